#include "core/lowering/interleaved_calls.h"

#include <algorithm>

namespace bubblescope {

void InterleavedOrder::addGroup(int chunks, int first, int end) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
        for (int m = first; m < end; ++m) {
            forwards.emplace_back(OpKind::Forward, Microbatch{m}, Chunk{chunk});
            backwards.emplace_back(OpKind::Backward, Microbatch{m}, Chunk{chunks - 1 - chunk});
        }
    }
}

bool InterleavedOrder::is(const Schedule& order) const {
    if (order.placement != Placement::Loop) return false;
    for (std::size_t r = 0; r < order.ranks.size(); ++r) {
        const std::size_t before = std::min(static_cast<std::size_t>(ahead[r]), forwards.size());
        std::vector<Op> expected;
        for (std::size_t step = 0; step < forwards.size() + before; ++step) {
            if (step < forwards.size()) expected.push_back(forwards[step]);
            if (step >= before) expected.push_back(backwards[step - before]);
        }
        if (expected != order.ranks[r]) return false;
    }
    return true;
}

InterleavedCalls::InterleavedCalls(const Schedule& order, Rank rank, bool batched, int ahead)
    : calls(order, rank, batched), warm_up_(static_cast<std::size_t>(std::min(ahead, order.microbatches * order.vpp))),
      inputs_(static_cast<std::size_t>(order.vpp), 0), gradients_(inputs_) {
    const auto& ops = calls.ops();
    for (std::size_t i = 0; i < ops.size(); ++i)
        (ops[i].kind == OpKind::Forward ? forwards_ : backwards_).push_back(i);
}

std::optional<Action> InterleavedCalls::next(OpKind kind, std::vector<int>& received, Chunk chunk) {
    // Each chunk processes its micro-batches in order.
    return calls.receive(Op(kind, Microbatch{received[chunk.index()]++}, chunk));
}

} // namespace bubblescope
