#pragma once

#include "core/theory/closed_form.h"

namespace bubblescope {

/// The lower bound on a step's makespan that holds for any order. Totals only. Linear in ops. `costs` name every stage
/// or none; queues of transfers and blocking sends are ignored, so the bound holds with them too.
/// Errors: Input where the schedule is invalid or deadlocks; Usage where `costs` name single ops.
[[nodiscard]] Result<ClosedForm> orderBound(const Schedule& schedule, const CostModel& costs);

} // namespace bubblescope
