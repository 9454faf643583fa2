#pragma once

#include "core/cost/memory_model.h"
#include "core/graph/simulate_lowered.h"

#include <string>
#include <vector>

namespace bubblescope {

/// A rank's memory during a lowered step. Unlike the memory of an order alone, it depends on times: an OFFLOAD frees
/// the activations when its copy has ended, a RELOAD allocates them when its copy starts, and another rank stores them
/// in between. A forward that is recomputed keeps StageMemory::kept_input until its RECOMPUTE allocates the rest. An
/// UNSHARD allocates StageMemory::gathered until its RESHARD.
struct LoweredMemory {
    std::vector<MemoryPoint> curve; ///< as memoryCurve() returns it
    std::int64_t peak = 0;
    TimeNs peak_time{0}; ///< the first time
    std::string peak_op; ///< name of the op or RECOMPUTE that runs then, or that starts next; empty if none does
};

/// One entry per rank. `model` must cover every stage. If memory is freed and allocated at one time, it is freed first.
/// O(n log n) in actions.
[[nodiscard]] std::vector<LoweredMemory> loweredMemory(const LoweredSchedule& lowered, const LoweredStep& step,
                                                       const MemoryModel& model);

} // namespace bubblescope
