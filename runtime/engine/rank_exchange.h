#pragma once

#include "runtime/engine/rank_stages.h"
#include "runtime/engine/rank_state.h"

#include <optional>
#include <vector>

namespace bubblescope::runtime {

/// What a rank exchanges with others: inputs and outputs of ops, gradients of copies of its stages, and the barrier at
/// a step's end. Records transfers, and injects faults into them. For the rank's thread; where the run has ended, every
/// function throws RunEnded.
class RankExchange {
public:
    /// `rank` must outlive it.
    explicit RankExchange(RankState& rank) : rank_(rank), expected_(rank.topology.expectedInStep()) {}

    /// Before the barrier that begins a step.
    void expectStep() { rank_.transport.expect(expected_); }
    /// Waits for the data of the neighbouring stage. Nothing where the op needs none.
    [[nodiscard]] std::optional<Arrival> receiveInput(const Op& op);
    /// To the neighbouring stage, if the op hands anything on.
    void sendOutput(const Op& op, Message message);

    /// Sends the gradients of the rank's stages to their copies, and adds theirs in the order that DataPlan states: by
    /// chunk, the sums of all copies. `ready` grows to when the last of them was there.
    [[nodiscard]] std::vector<Tensor> sumGradients(RankStages& stages, const Op& op, TimeNs& ready);

    /// Waits for all ranks; the latest of their times.
    [[nodiscard]] TimeNs barrier(TimeNs time);

private:
    [[nodiscard]] Arrival receive(const Op& op, Rank from, const MessageKey& key);
    /// When a message can be used that the transport handed out.
    [[nodiscard]] TimeNs arrivalOf(const Taken& taken, Rank from);
    [[nodiscard]] Tensor sumOfCopies(const Op& op, Stage stage, Tensor own, TimeNs& ready);

    RankState& rank_;
    std::vector<Expected> expected_; ///< in a step
};

} // namespace bubblescope::runtime
