#pragma once

#include "runtime/engine/rank_state.h"

#include <optional>
#include <vector>

namespace bubblescope::runtime {

/// A rank's communication: inputs and outputs of ops, gradients for copies of its stages, and the barrier at the end of
/// a step. Records transfers and injects faults into them. For the rank's thread. Every function throws RunEnded if the
/// run has ended.
class RankExchange {
public:
    /// `rank` must outlive the object.
    explicit RankExchange(RankState& rank) : rank_(rank), expected_(rank.topology.expectedInStep()) {}

    /// Call this before the barrier that begins a step.
    void expectStep() { rank_.transport.expect(expected_); }
    /// Waits for the input from the neighbouring stage, or from both encoders where they join. Returns nothing if the
    /// op needs no input. If `holds` is set in a run that is not paced, an injected delay blocks the rank; otherwise
    /// the result's time may be in the future.
    [[nodiscard]] std::optional<Arrival> receiveInput(const Op& op, bool holds = true);
    /// Sends an op's output to the neighbouring stage, or to both encoders, if the op has an output.
    void sendOutput(const Op& op, Message message);

    /// Sends the gradients of the rank's stages to their copies, and adds the gradients from the copies in the order of
    /// DataPlan. Returns the sum over all copies for each chunk. `ready` is set to the arrival time of the last
    /// gradients if that is later.
    [[nodiscard]] std::vector<Tensor> sumGradients(RankStages& stages, const Op& op, TimeNs& ready);

    /// Waits for all ranks; returns the latest of their times.
    [[nodiscard]] TimeNs barrier(TimeNs time);

private:
    void send(const Op& op, const CommTopology::Route& route, Message message);
    [[nodiscard]] Arrival receive(const Op& op, Rank from, const MessageKey& key, bool holds = true);
    /// The time from which a received message can be used.
    [[nodiscard]] TimeNs arrivalOf(const Taken& taken, Rank from, bool holds);
    [[nodiscard]] Tensor sumOfCopies(const Op& op, Stage stage, Tensor own, TimeNs& ready);

    RankState& rank_;
    std::vector<Expected> expected_; ///< in each step
};

} // namespace bubblescope::runtime
