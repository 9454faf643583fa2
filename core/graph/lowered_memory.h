#pragma once

#include "core/cost/memory_model.h"
#include "core/graph/simulate_lowered.h"

#include <string>
#include <vector>

namespace bubblescope {

/// A rank's memory over time in a lowered step; it depends on timing. An OFFLOAD frees the activations when its copy
/// ends, and a RELOAD allocates them when its copy starts. If another rank stores the activations in between, they
/// count towards that rank's memory. A forward that is recomputed occupies StageMemory::kept_input until its RECOMPUTE
/// allocates the rest. An UNSHARD allocates StageMemory::gathered until its RESHARD.
struct LoweredMemory {
    std::vector<MemoryPoint> curve; ///< in the format of memoryCurve()
    std::int64_t peak = 0;
    TimeNs peak_time{0}; ///< time at which the peak is first reached
    std::string peak_op; ///< op or RECOMPUTE that runs at the peak or is the next to start; empty if none
};

/// One entry per rank. `model` must cover every stage. If memory is freed and allocated at the same time, it is freed
/// first. O(n log n) for n actions.
[[nodiscard]] std::vector<LoweredMemory> loweredMemory(const LoweredSchedule& lowered, const LoweredStep& step,
                                                       const MemoryModel& model);

} // namespace bubblescope
