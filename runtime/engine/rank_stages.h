#pragma once

#include "runtime/engine/rank_state.h"

#include <span>

namespace bubblescope::runtime {

/// The stages that a rank holds. For the rank's thread.
class RankStages {
public:
    /// `rank` must outlive it.
    explicit RankStages(RankState& rank) : rank_(rank) {}

    /// Makes the stages, on the rank's device where it has one, and hands them to the layer hook.
    void build();

    [[nodiscard]] StageModel& at(Stage stage);
    /// Runs the op on its input; returns what it hands on. Injects faults into both.
    [[nodiscard]] Tensor compute(const Op& op, std::optional<Arrival>& input);
    /// How often these ops add up parts with the ranks that share the stages.
    [[nodiscard]] int sumsIn(std::span<const Op> ops);

    /// Keeps the memory of the moment if it is the largest so far.
    void sampleMemory();
    /// Takes the losses of the step that the rank's stages have computed.
    void takeLosses();

private:
    RankState& rank_;
};

} // namespace bubblescope::runtime
