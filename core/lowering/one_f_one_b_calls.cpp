#include "core/lowering/one_f_one_b_calls.h"

#include "core/lowering/neighbour_calls.h"

#include <algorithm>

namespace bubblescope {
namespace {

/// Number of forwards before the first backward of a rank's 1F1B, not counting the one in its first pair.
int forwardsAhead(const Schedule& order, std::size_t rank) {
    return std::min(order.pp - static_cast<int>(rank) - 1, order.microbatches);
}

} // namespace

bool isOneFOneB(const Schedule& order) {
    if (order.vpp != 1 || encodersOf(order.placement).ranks() > 0 || routes(order.placement) > 1) return false;
    for (std::size_t r = 0; r < order.ranks.size(); ++r) {
        std::vector<Op> expected;
        const int ahead = forwardsAhead(order, r);
        for (int step = 0; step < order.microbatches + ahead; ++step) {
            if (step < order.microbatches) expected.emplace_back(OpKind::Forward, Microbatch{step}, Chunk{0});
            if (step >= ahead) expected.emplace_back(OpKind::Backward, Microbatch{step - ahead}, Chunk{0});
        }
        if (expected != order.ranks[r]) return false;
    }
    return true;
}

std::vector<Action> oneFOneBCalls(const Schedule& order, Rank rank, PairCalls pairs) {
    NeighbourCalls calls(order, rank, pairs == PairCalls::Batched);
    const auto& ops = calls.ops();
    const bool steady = order.microbatches > forwardsAhead(order, rank.index());
    const auto call = [&calls](const std::optional<Action>& sent, const std::optional<Action>& received, bool next) {
        calls.postAndWait(next ? NeighbourCall{{}, {}, sent, received} : NeighbourCall{sent, received, {}, {}});
    };
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const bool forward = ops[i].kind == OpKind::Forward;
        // In the steady phase, F and B send to and receive from one neighbour in one call.
        const bool turns = i > 0 && ops[i - 1].kind != ops[i].kind && steady;
        if (turns && pairs != PairCalls::Single) {
            call(calls.send(ops[i - 1]), calls.receive(ops[i]), !forward);
        } else if (turns && forward) {
            call({}, calls.receive(ops[i]), false);
            call(calls.send(ops[i - 1]), {}, false);
        } else {
            if (i > 0) call(calls.send(ops[i - 1]), {}, ops[i - 1].kind == OpKind::Forward);
            call({}, calls.receive(ops[i]), !forward);
        }
        calls.compute(i);
    }
    call(calls.send(ops.back()), {}, false);
    return calls.take();
}

} // namespace bubblescope
