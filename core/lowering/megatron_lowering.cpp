#include "core/lowering/megatron_lowering.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace bubblescope {
namespace {

/// Number of forwards before the first backward of a rank's 1F1B, not counting the one in its first pair.
int warmUp(const Schedule& order, std::size_t rank) {
    return std::min(order.pp - static_cast<int>(rank) - 1, order.microbatches);
}

bool isOneFOneB(const Schedule& order) {
    if (order.vpp != 1 || routes(order.placement) > 1) return false;
    for (std::size_t r = 0; r < order.ranks.size(); ++r) {
        std::vector<Op> expected;
        const int ahead = warmUp(order, r);
        for (int step = 0; step < order.microbatches + ahead; ++step) {
            if (step < order.microbatches) expected.emplace_back(OpKind::Forward, Microbatch{step}, Chunk{0});
            if (step >= ahead) expected.emplace_back(OpKind::Backward, Microbatch{step - ahead}, Chunk{0});
        }
        if (expected != order.ranks[r]) return false;
    }
    return true;
}

class MegatronRank {
public:
    MegatronRank(const Schedule& order, std::size_t rank, MegatronTransfers transfers)
        : order_(order), rank_(static_cast<int>(rank)), transfers_(transfers) {}

    std::vector<Action> run() {
        const auto& ops = order_.ranks[static_cast<std::size_t>(rank_)];
        const bool steady = order_.microbatches > warmUp(order_, static_cast<std::size_t>(rank_));
        for (std::size_t i = 0; i < ops.size(); ++i) {
            const std::optional<Op> before = i == 0 ? std::nullopt : std::optional(ops[i - 1]);
            // In the steady phase, F and B send to and receive from one neighbour in one call.
            const bool turns = before && before->kind != ops[i].kind && steady;
            call(turns && before ? send(*before) : std::nullopt, turns ? receive(ops[i]) : std::nullopt);
            if (!turns) {
                if (before) call(send(*before), {});
                call({}, receive(ops[i]));
            }
            Action compute;
            compute.op = static_cast<std::int32_t>(i);
            compute.stage = Stage{rank_};
            compute.microbatch = ops[i].microbatch;
            actions_.push_back(compute);
        }
        call(send(ops.back()), {});
        return std::move(actions_);
    }

private:
    [[nodiscard]] std::optional<Action> action(ActionKind kind, const Op& op, int peer) const {
        if (peer < 0 || peer >= order_.pp) return std::nullopt;
        Action made;
        made.kind = kind;
        made.stage = Stage{rank_};
        made.microbatch = op.microbatch;
        return made;
    }
    [[nodiscard]] std::optional<Action> send(const Op& op) const {
        return op.kind == OpKind::Forward ? action(ActionKind::SendForward, op, rank_ + 1)
                                          : action(ActionKind::SendBackward, op, rank_ - 1);
    }
    [[nodiscard]] std::optional<Action> receive(const Op& op) const {
        return op.kind == OpKind::Forward ? action(ActionKind::ReceiveForward, op, rank_ - 1)
                                          : action(ActionKind::ReceiveBackward, op, rank_ + 1);
    }

    /// Posts both, then waits. With the next rank, the send comes first; with the previous rank, the receive.
    void call(std::optional<Action> sent, std::optional<Action> received) {
        const bool both = sent && received;
        if (both) sent->grouped = transfers_ == MegatronTransfers::Batched;
        const bool receive_first =
            both && transfers_ == MegatronTransfers::Separate && sent->kind == ActionKind::SendBackward;
        if (receive_first) actions_.push_back(*received);
        if (sent) actions_.push_back(*sent);
        if (received && !receive_first) actions_.push_back(*received);
        if (!sent) return;
        Action wait = *sent;
        wait.grouped = false;
        wait.kind = sent->kind == ActionKind::SendForward ? ActionKind::WaitSendForward : ActionKind::WaitSendBackward;
        actions_.push_back(wait);
    }

    const Schedule& order_;
    int rank_;
    MegatronTransfers transfers_;
    std::vector<Action> actions_;
};

} // namespace

Result<LoweredSchedule> lowerAsMegatron(const Schedule& order, MegatronTransfers transfers) {
    if (!isOneFOneB(order))
        return usageError("only 1F1B with one chunk per rank can be lowered like in Megatron-core", "use 1f1b");
    LoweredSchedule lowered{order, {}};
    for (std::size_t r = 0; r < order.ranks.size(); ++r)
        lowered.actions.push_back(MegatronRank(order, r, transfers).run());
    return lowered;
}

} // namespace bubblescope
