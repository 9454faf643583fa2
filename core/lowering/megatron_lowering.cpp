#include "core/lowering/megatron_lowering.h"

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

/// `extra`: 1 with overlap_moe_expert_parallel_comm.
InterleavedOrder megatronOrder(const Schedule& order, int group, int extra) {
    InterleavedOrder made;
    for (int r = 0; r < order.pp; ++r)
        made.ahead.push_back(2 * (order.pp - 1 - r) + (order.vpp - 1) * group + extra);
    for (int first = 0; first < order.microbatches; first += group)
        made.addGroup(order.vpp, first, std::min(first + group, order.microbatches));
    return made;
}

/// Micro-batches per group (`microbatch_group_size_per_vp_stage`): those of the first chunk before the second chunk.
int groupSize(const Schedule& order) {
    const auto& ops = order.ranks.front();
    const auto other =
        std::ranges::find_if(ops, [](const Op& op) { return op.kind != OpKind::Forward || op.chunk != Chunk{0}; });
    return static_cast<int>(other - ops.begin());
}

/// forward_backward_pipelining_with_interleaving() on one rank.
class MegatronInterleavedRank {
public:
    MegatronInterleavedRank(const Schedule& order, Rank rank, int ahead, MegatronTransfers transfers)
        : steps_(order, rank, transfers == MegatronTransfers::Batched, ahead), calls_(steps_.calls),
          pp_(order.pp), last_chunk_{order.vpp - 1}, flush_(transfers == MegatronTransfers::OverlappedFlush),
          overlapped_(flush_ || transfers == MegatronTransfers::Overlapped) {}

    std::vector<Action> run() {
        calls_.postAndWait({{}, steps_.nextInput(Chunk{0}), {}, {}});
        for (std::size_t k = 0; k < steps_.warmUp(); ++k)
            flush_ ? warmUpOverlapped(k) : warmUp(k);
        for (std::size_t k = 0; k < steps_.pairs(); ++k)
            overlapped_ ? pairOverlapped(k) : pair(k);
        if (steps_.pairs() == 0) calls_.postAndWait({{}, {}, {}, firstGradient()});
        for (std::size_t k = steps_.pairs(); k < steps_.steps(); ++k)
            flush_ ? coolDownOverlapped(k) : coolDown(k);
        calls_.wait(send_previous_);
        return calls_.take();
    }

private:
    /// The chunk whose input arrives during a step, if any. The leading rank (the first one in forwards, the last one
    /// in backwards) receives data that the rank at the other end finished pp - 1 steps later.
    [[nodiscard]] std::optional<Chunk> arriving(std::size_t step, bool forward) const {
        const auto chunkAt = [&](std::size_t at) {
            const std::size_t wrapped = at % steps_.steps();
            return (forward ? steps_.forward(wrapped) : steps_.backward(wrapped)).chunk;
        };
        if (forward ? !calls_.isFirst() : !calls_.isLast()) return chunkAt(step + 1);
        const auto behind = static_cast<std::size_t>(pp_ - 1);
        if (step < behind) return std::nullopt;
        const Chunk chunk = chunkAt(step - behind);
        if (chunk == (forward ? last_chunk_ : Chunk{0})) return std::nullopt;
        return Chunk{chunk.value + (forward ? 1 : -1)};
    }
    std::optional<Action> arrivingInput(std::size_t step) {
        const auto chunk = arriving(step, true);
        return chunk && step + 1 < steps_.steps() ? steps_.nextInput(*chunk) : std::nullopt;
    }
    std::optional<Action> arrivingGradient(std::size_t step) {
        const auto chunk = arriving(step, false);
        return chunk && step + 1 < steps_.steps() ? steps_.nextGradient(*chunk) : std::nullopt;
    }
    std::optional<Action> firstGradient() { return steps_.nextGradient(last_chunk_); }
    [[nodiscard]] bool endsWarmUp(std::size_t k) const { return k + 1 == steps_.warmUp() && steps_.pairs() > 0; }

    void warmUp(std::size_t k) {
        steps_.computeForward(k);
        NeighbourCall call{{}, arrivingInput(k), calls_.send(steps_.forward(k)), {}};
        if (endsWarmUp(k) && !overlapped_) call.receive_next = firstGradient();
        calls_.postAndWait(call);
        if (endsWarmUp(k) && overlapped_) postBackward({{}, {}, {}, firstGradient()});
    }
    void warmUpOverlapped(std::size_t k) {
        if (k > 0 && calls_.receive(steps_.forward(k))) waitForInput();
        const auto input = arrivingInput(k);
        if (!calls_.isFirst()) {
            calls_.post({{}, input, {}, {}});
            keep(inputs_, input);
        }
        steps_.computeForward(k);
        postForward({{}, calls_.isFirst() ? input : std::nullopt, calls_.send(steps_.forward(k)), {}});
        if (endsWarmUp(k)) postBackward({{}, {}, {}, firstGradient()});
    }

    void pair(std::size_t k) {
        const std::size_t f = k + steps_.warmUp();
        steps_.computeForward(f);
        steps_.computeBackward(k);
        const auto input = arrivingInput(f);
        calls_.postAndWait(
            {calls_.send(steps_.backward(k)), input, calls_.send(steps_.forward(f)), arrivingGradient(k)});
    }
    void pairOverlapped(std::size_t k) {
        const std::size_t f = k + steps_.warmUp();
        if (calls_.receive(steps_.forward(f))) waitForInput();
        steps_.computeForward(f);
        postForward({{}, arrivingInput(f), calls_.send(steps_.forward(f)), {}});
        if (calls_.receive(steps_.backward(k))) waitForGradient();
        steps_.computeBackward(k);
        postBackward({calls_.send(steps_.backward(k)), {}, {}, arrivingGradient(k)});
    }

    void coolDown(std::size_t k) {
        if (k > 0 && calls_.receive(steps_.backward(k))) waitForGradient();
        steps_.computeBackward(k);
        calls_.postAndWait({calls_.send(steps_.backward(k)), {}, {}, arrivingGradient(k)});
    }
    void coolDownOverlapped(std::size_t k) {
        if (k > 0 && calls_.receive(steps_.backward(k))) waitForGradient();
        const auto gradient = arrivingGradient(k);
        if (!calls_.isLast()) {
            calls_.post({{}, {}, {}, gradient});
            keep(gradients_, gradient);
        }
        steps_.computeBackward(k);
        postBackward({calls_.send(steps_.backward(k)), {}, {}, calls_.isLast() ? gradient : std::nullopt});
    }

    /// Posts, then waits for the send that was posted one call earlier.
    void postForward(const NeighbourCall& call) {
        calls_.post(call);
        calls_.wait(std::exchange(send_next_, call.send_next));
        keep(inputs_, call.receive_previous);
    }
    void postBackward(const NeighbourCall& call) {
        calls_.post(call);
        calls_.wait(std::exchange(send_previous_, call.send_previous));
        keep(gradients_, call.receive_next);
    }
    static void keep(std::deque<Action>& pending, const std::optional<Action>& received) {
        if (received) pending.push_back(*received);
    }
    void waitForInput() { waitForOldest(inputs_); }
    void waitForGradient() { waitForOldest(gradients_); }
    void waitForOldest(std::deque<Action>& pending) {
        if (pending.empty()) return;
        calls_.wait(pending.front());
        pending.pop_front();
    }

    InterleavedCalls steps_;
    NeighbourCalls& calls_;
    int pp_;
    Chunk last_chunk_;
    bool flush_;
    bool overlapped_;
    std::deque<Action> inputs_; ///< posted receives whose waits are still missing
    std::deque<Action> gradients_;
    std::optional<Action> send_next_; ///< the latest send
    std::optional<Action> send_previous_;
};

} // namespace

Result<LoweredSchedule> lowerAsMegatron(const Schedule& order, MegatronTransfers transfers) {
    LoweredSchedule lowered{order, {}};
    if (isOneFOneB(order)) {
        for (int r = 0; r < order.pp; ++r)
            lowered.actions.push_back(oneFOneBCalls(
                order, Rank{r}, transfers == MegatronTransfers::Batched ? PairCalls::Batched : PairCalls::Separate));
        return lowered;
    }
    const int group = order.vpp > 1 ? groupSize(order) : 0;
    const bool whole = group >= order.pp && (order.microbatches % group == 0 || order.microbatches % group >= order.pp);
    for (const int extra : {0, 1}) {
        const InterleavedOrder own = whole ? megatronOrder(order, group, extra) : InterleavedOrder{};
        if (!whole || !own.is(order)) continue;
        for (int r = 0; r < order.pp; ++r)
            lowered.actions.push_back(
                MegatronInterleavedRank(order, Rank{r}, own.ahead[static_cast<std::size_t>(r)], transfers).run());
        return lowered;
    }
    return usageError("Megatron-core runs only 1F1B and its own interleaved 1F1B",
                      fmt::format("use 1f1b, or interleaved with {}", Field("flavor").is("megatron")));
}

} // namespace bubblescope
