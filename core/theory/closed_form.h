#pragma once

#include "core/base/result.h"
#include "core/theory/forms/form.h"

namespace bubblescope {

/// What theory says of a schedule at these costs: its family's closed form where there is one that covers
/// them, else the lower bound that holds for any order (order_bound.h), with the reason in `note`.
/// Errors: Input where the schedule is invalid or deadlocks; Usage where `costs` do not fit it.
[[nodiscard]] Result<ClosedForm> closedForm(const Schedule& schedule, const CostModel& costs);

} // namespace bubblescope
