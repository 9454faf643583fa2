#pragma once

#include "core/analysis/clocks/solve.h"
#include "core/timeline/step_timeline.h"

#include <vector>

namespace bubblescope {

/// How many events of each source were taken.
struct StepEventCounts {
    std::size_t transfers = 0;
    std::size_t op_orders = 0;
};

/// What an op tells of the one it gets its input from.
enum class OpOrder {
    EndToStart, ///< starts when that has ended, at the earliest (has started, if it ran in a pair)
    StartToEnd, ///< ends when that has started, at the earliest: where ops hold the waits around them
};

/// What a step says of its ranks' clocks: a transfer's receive does not end before its send starts. Where a transfer
/// was not recorded on both sides, the order of the ops tells. `clock_of_rank` has an entry per rank.
StepEventCounts addStepEvents(const StepTimeline& step, const std::vector<int>& clock_of_rank, OpOrder op_order,
                              std::vector<Precedence>& into);

} // namespace bubblescope
