#pragma once

#include "core/analysis/clocks/run_clocks.h"
#include "core/base/result.h"
#include "core/recognise/run.h"
#include "core/timeline/step_selection.h"

#include <optional>
#include <vector>

namespace bubblescope {

/// The recorded memory use of a rank's device.
struct RankMemoryUse {
    Rank rank;
    int replica = 0;
    double peak = 0;    ///< bytes: median of the peaks in the selected steps
    double highest = 0; ///< bytes: peak of the complete recording
    /// The op that ran at the peak of the step with the highest peak, or the next op to start.
    std::optional<Op> at;
    bool before = false; ///< true if the op started next
    /// True if the bytes are reserved from CUDA, so that they include memory that is not in use; see MemoryCurve.
    bool reserved = false;
    int held = 0; ///< maximum number of forwards whose activations are in memory, according to the order
};

/// A straight line through the ranks' peaks: `fixed` + held · `per_forward`.
struct MemoryLine {
    double fixed = 0;       ///< bytes for weights, gradients, optimizer state and workspace
    double per_forward = 0; ///< bytes stored by a chunk's forward until they are released
    double worst = 0;       ///< largest distance between a rank's peak and the line, as a fraction of that peak
};

struct MemoryUse {
    std::vector<RankMemoryUse> ranks; ///< by replica, then rank; only ranks with a separate file and a memory counter
    /// Least-squares fit. None if there are fewer than three ranks, if all ranks store the activations of the same
    /// number of forwards, or if memory does not grow with their number.
    std::optional<MemoryLine> line;
    /// Peak bytes per file of the run, excluding reserved memory; empty without memory counters.
    std::vector<std::optional<double>> peaks;
};

/// The memory use of a run; `clocks` are those of the run. Empty if the trace has no memory counters or is not loaded.
/// Errors: as extract().
[[nodiscard]] Result<MemoryUse> memoryUse(const Run& run, const RunClocks& clocks, const StepSelection& selection);

} // namespace bubblescope
