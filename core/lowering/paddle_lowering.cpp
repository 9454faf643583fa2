#include "core/lowering/paddle_lowering.h"

#include "core/base/field.h"
#include "core/lowering/interleaved_calls.h"
#include "core/lowering/one_f_one_b_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

namespace bubblescope {
namespace {

/// The number of micro-batches in the first group, which takes the remainder.
int firstGroup(const Schedule& order) {
    return order.microbatches % order.pp + order.pp;
}

InterleavedOrder paddleOrder(const Schedule& order) {
    InterleavedOrder made;
    for (int r = 0; r < order.pp; ++r)
        made.ahead.push_back(2 * (order.pp - 1 - r) + (order.vpp - 1) * firstGroup(order));
    for (int first = 0; first < order.microbatches;) {
        const int end = first + (first == 0 ? firstGroup(order) : order.pp);
        made.addGroup(order.vpp, first, std::min(end, order.microbatches));
        first = end;
    }
    return made;
}

/// PipelineParallelWithInterleave.forward_backward_pipeline() on one rank.
class PaddleInterleavedRank {
public:
    PaddleInterleavedRank(const Schedule& order, Rank rank, int ahead, bool overlapped)
        : steps_(order, rank, !overlapped, ahead), calls_(steps_.calls), last_chunk_{order.vpp - 1},
          remainder_(static_cast<std::size_t>(order.microbatches % order.pp)),
          first_group_(static_cast<std::size_t>(firstGroup(order))), chunks_(static_cast<std::size_t>(order.vpp)),
          overlapped_(overlapped) {}

    std::vector<Action> run() {
        calls_.postAndWait({{}, steps_.nextInput(Chunk{0}), {}, {}});
        for (std::size_t k = 0; k < steps_.warmUp(); ++k)
            warmUp(k);
        for (std::size_t k = 0; k < steps_.pairs(); ++k)
            overlapped_ ? pairOverlapped(k) : pair(k);
        calls_.waitForAll(std::exchange(backward_, {}));
        if (steps_.pairs() == 0) calls_.postAndWait({{}, {}, {}, firstGradient()});
        for (std::size_t k = steps_.pairs(); k < steps_.steps(); ++k) {
            steps_.computeBackward(k);
            calls_.postAndWait({sendBackward(k), {}, {}, arrivingGradient(k)});
        }
        return calls_.take();
    }

private:
    std::optional<Action> firstGradient() { return steps_.nextGradient(last_chunk_); }
    /// The input of the next forward, or the gradient of the next backward.
    std::optional<Action> arrivingInput(std::size_t step) {
        if (step + 1 == steps_.steps()) return std::nullopt;
        const Chunk chunk = steps_.forward(step + 1).chunk;
        return calls_.isFirst() && chunk == Chunk{0} ? std::nullopt : steps_.nextInput(chunk);
    }
    std::optional<Action> arrivingGradient(std::size_t step) {
        if (step + 1 == steps_.steps()) return std::nullopt;
        const Chunk chunk = steps_.backward(step + 1).chunk;
        return calls_.isLast() && chunk == last_chunk_ ? std::nullopt : steps_.nextGradient(chunk);
    }

    std::optional<Action> sendForward(std::size_t step) {
        const auto sent = calls_.send(steps_.forward(step));
        return calls_.isLast() ? delayed(outputs_, step, sent) : sent;
    }
    std::optional<Action> sendBackward(std::size_t step) {
        const auto sent = calls_.send(steps_.backward(step));
        return calls_.isFirst() ? delayed(gradients_, step, sent) : sent;
    }
    /// In the first group, the end of the pipeline delays its sends by as many steps as there are micro-batches in the
    /// remainder, because the other end does not need its tensors earlier.
    std::optional<Action> delayed(std::deque<Action>& queue, std::size_t step,
                                  const std::optional<Action>& sent) const {
        if (step >= first_group_ * chunks_) return sent;
        if (sent) queue.push_back(*sent);
        if (step < remainder_ || step >= remainder_ + first_group_ * (chunks_ - 1)) return std::nullopt;
        const Action oldest = queue.front();
        queue.pop_front();
        return oldest;
    }

    void warmUp(std::size_t k) {
        calls_.waitForAll(std::exchange(forward_, {}));
        steps_.computeForward(k);
        const bool ends = k + 1 == steps_.warmUp() && steps_.pairs() > 0;
        NeighbourCall call{{}, arrivingInput(k), sendForward(k), {}};
        if (!overlapped_) {
            if (ends) call.receive_next = firstGradient();
            calls_.postAndWait(call);
            return;
        }
        calls_.post(forward_ = call);
        if (ends) calls_.post(backward_ = {{}, {}, {}, firstGradient()});
    }
    void pair(std::size_t k) {
        const std::size_t f = k + steps_.warmUp();
        steps_.computeForward(f);
        steps_.computeBackward(k);
        const auto input = arrivingInput(f);
        calls_.postAndWait({sendBackward(k), input, sendForward(f), arrivingGradient(k)});
    }
    void pairOverlapped(std::size_t k) {
        const std::size_t f = k + steps_.warmUp();
        calls_.waitForAll(forward_);
        steps_.computeForward(f);
        calls_.post(forward_ = {{}, arrivingInput(f), sendForward(f), {}});
        calls_.waitForAll(backward_);
        steps_.computeBackward(k);
        calls_.post(backward_ = {sendBackward(k), {}, {}, arrivingGradient(k)});
    }

    InterleavedCalls steps_;
    NeighbourCalls& calls_;
    Chunk last_chunk_;
    std::size_t remainder_;
    std::size_t first_group_;
    std::size_t chunks_;
    bool overlapped_;
    std::deque<Action> outputs_; ///< delayed sends
    std::deque<Action> gradients_;
    NeighbourCall forward_; ///< transfers for which the next op of this kind waits
    NeighbourCall backward_;
};

} // namespace

Result<LoweredSchedule> lowerAsPaddle(const Schedule& order, bool overlapped) {
    LoweredSchedule lowered{order, {}};
    if (isOneFOneB(order)) {
        for (int r = 0; r < order.pp; ++r)
            lowered.actions.push_back(oneFOneBCalls(order, Rank{r}, PairCalls::Single));
        return lowered;
    }
    const InterleavedOrder own = paddleOrder(order);
    const bool large = order.pp > 2 && order.microbatches >= 2 * order.pp;
    if (!large || !own.is(order)) {
        return usageError("Paddle runs only 1F1B and its own interleaved 1F1B, with p > 2 and m ≥ 2p",
                          fmt::format("use 1f1b, or interleaved with {}", Field("flavor").is("paddle-dynamic")));
    }
    for (int r = 0; r < order.pp; ++r)
        lowered.actions.push_back(
            PaddleInterleavedRank(order, Rank{r}, own.ahead[static_cast<std::size_t>(r)], overlapped).run());
    return lowered;
}

} // namespace bubblescope
