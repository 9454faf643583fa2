#pragma once

#include "core/cost/cost_model.h"
#include "core/timeline/check_record.h"
#include "core/timeline/step_timeline.h"

#include <span>
#include <vector>

namespace bubblescope {

/// The checks that a run of these steps would have made in its bubbles, placed by planChecks(), with made-up digests.
/// One on rank 2 finds a flipped bit in step 4 that does not recur. By rank and time.
[[nodiscard]] std::vector<CheckRecord> demoChecks(std::span<const StepTimeline> steps, const CostModel& costs);

} // namespace bubblescope
