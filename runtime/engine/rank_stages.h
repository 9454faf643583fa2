#pragma once

#include "runtime/engine/rank_state.h"

#include <span>

namespace bubblescope::runtime {

/// The stages that a rank holds. For the rank's thread.
class RankStages {
public:
    /// `rank` must outlive the object.
    explicit RankStages(RankState& rank) : rank_(rank) {}

    /// Makes the stages, on the rank's device if it has one, and passes them to the layer hook.
    void build();

    [[nodiscard]] StageModel& at(Stage stage);
    /// Runs the op on its input, and returns its output. Injects faults into both.
    [[nodiscard]] Tensor compute(const Op& op, std::optional<Arrival>& input);
    /// The number of sums in these ops among the ranks that share the stages.
    [[nodiscard]] int sumsIn(std::span<const Op> ops);

    /// Keeps the current use of memory if it is the largest so far.
    void sampleMemory();
    /// Takes the losses of the step from the rank's stages.
    void takeLosses();

private:
    RankState& rank_;
};

} // namespace bubblescope::runtime
