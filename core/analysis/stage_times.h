#pragma once

#include "core/cost/cost_model.h"
#include "core/timeline/step_timeline.h"

#include <span>
#include <vector>

namespace bubblescope {

/// What one chunk's ops take: medians over all micro-batches and steps; 0 for kinds it does not run on
/// their own. Halves of overlapped pairs do not count: they last as long as the pair.
struct StageTimes {
    Rank rank;
    Chunk chunk;
    Stage stage;
    OpTimes median;

    /// Work of one micro-batch: F + B, or F + I + W.
    [[nodiscard]] TimeNs work() const {
        return median.forward + median.backward + median.input_grad + median.weight_grad;
    }
};

/// By rank, then chunk. All steps must have the same p and v.
[[nodiscard]] std::vector<StageTimes> stageTimes(std::span<const StepTimeline> steps);

} // namespace bubblescope
