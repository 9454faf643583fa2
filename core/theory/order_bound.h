#pragma once

#include "core/theory/closed_form.h"

namespace bubblescope {

/// The lower bound on a step's makespan that holds for any order, whoever made it. Totals only. Linear in ops.
/// `costs` name every stage or none. Errors: Input where the schedule is invalid or deadlocks; Usage where `costs` name
/// single ops.
[[nodiscard]] Result<ClosedForm> orderBound(const Schedule& schedule, const CostModel& costs);

} // namespace bubblescope
