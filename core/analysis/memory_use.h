#pragma once

#include "core/analysis/clocks/run_clocks.h"
#include "core/base/result.h"
#include "core/recognise/run.h"
#include "core/timeline/step_selection.h"

#include <optional>
#include <vector>

namespace bubblescope {

/// The memory that a rank's device was recorded to use.
struct RankMemoryUse {
    Rank rank;
    int replica = 0;
    double peak = 0;    ///< bytes: the median over the selected steps of the peak in each
    double highest = 0; ///< bytes: the peak of the whole recording
    /// The op of the step with the highest peak that ran at that peak, or that started next.
    std::optional<Op> at;
    bool before = false; ///< true if it started next
    int held = 0;        ///< at most, by the order of the schedule: forwards whose activations were not released
};

/// A straight line through the ranks' peaks: `fixed` + held · `per_forward`.
struct MemoryLine {
    double fixed = 0;       ///< bytes: weights, gradients, optimizer state, workspace
    double per_forward = 0; ///< bytes kept from a forward of a chunk to its release
    double worst = 0;       ///< the largest distance of a rank's peak from the line, as a fraction of that peak
};

struct MemoryUse {
    std::vector<RankMemoryUse> ranks; ///< by replica, then rank; only ranks alone in a file with a memory counter
    /// By least squares; none if fewer than three ranks, or all, hold the same number of forwards, or if memory does
    /// not grow with them.
    std::optional<MemoryLine> line;
    std::vector<std::optional<double>> peaks; ///< bytes, by file of the run; empty if no file has a memory counter
};

/// The memory use of a run on these clocks. Empty if the trace has no memory counters, or is not loaded. Errors: as
/// extract().
[[nodiscard]] Result<MemoryUse> memoryUse(const Run& run, const RunClocks& clocks, const StepSelection& selection);

} // namespace bubblescope
