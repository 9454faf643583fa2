#include "core/lowering/deepspeed_lowering.h"

#include "core/lowering/neighbour_calls.h"
#include "core/lowering/one_f_one_b_calls.h"

namespace bubblescope {
namespace {

/// TrainSchedule.steps() of one rank.
class DeepSpeedRank {
public:
    DeepSpeedRank(const Schedule& order, Rank rank) : calls_(order, rank, false), order_(order), rank_(rank.value) {}

    std::vector<Action> run() {
        for (int step = 0; step < 2 * (order_.microbatches + order_.pp - 1); ++step) {
            const bool forward = step % 2 == rank_ % 2;
            const Op op = opOf(step, forward);
            forward ? exchangeBefore(calls_.receive(op), op) : exchangeAfter(calls_.receive(op), op);
            if (exists(op)) calls_.compute(computed_++);
            before_ = op;
        }
        return calls_.take();
    }

private:
    [[nodiscard]] Op opOf(int step, bool forward) const {
        const int microbatch = forward ? (step - rank_) / 2 : (step + rank_ + 1) / 2 - order_.pp;
        const bool early = forward && step < rank_;
        return {forward ? OpKind::Forward : OpKind::Backward, Microbatch{early ? -1 : microbatch}, Chunk{0}};
    }
    [[nodiscard]] bool exists(const Op& op) const {
        return op.microbatch.value >= 0 && op.microbatch.value < order_.microbatches;
    }

    /// The step of a forward first sends the gradient of the previous step; the step of a backward first receives.
    void exchangeBefore(const std::optional<Action>& input, const Op& op) {
        if (exists(before_)) block(calls_.send(before_));
        if (exists(op)) block(input);
    }
    void exchangeAfter(const std::optional<Action>& input, const Op& op) {
        if (exists(op)) block(input);
        if (exists(before_)) block(calls_.send(before_));
    }
    void block(const std::optional<Action>& transfer) { calls_.postAndWait({transfer, {}, {}, {}}); }

    NeighbourCalls calls_;
    const Schedule& order_;
    int rank_;
    std::size_t computed_ = 0;
    Op before_{OpKind::Backward, Microbatch{-1}, Chunk{0}};
};

} // namespace

Result<LoweredSchedule> lowerAsDeepSpeed(const Schedule& order) {
    if (!isOneFOneB(order)) return usageError("DeepSpeed's TrainSchedule runs only 1F1B", "use 1f1b");
    LoweredSchedule lowered{order, {}};
    for (int r = 0; r < order.pp; ++r)
        lowered.actions.push_back(DeepSpeedRank(order, Rank{r}).run());
    return lowered;
}

} // namespace bubblescope
