#pragma once

#include "core/base/result.h"
#include "core/theory/forms/form.h"

namespace bubblescope {

/// The bubbles and the makespan that theory gives a schedule at these costs: the closed form of its family where one
/// covers them, else the lower bound that holds for any order (order_bound.h), with the reason in `note`. Peaks and
/// quoted forms are added where they are known. Thread-safe.
/// Errors: Input where the schedule is invalid or deadlocks; Usage where `costs` do not fit it.
[[nodiscard]] Result<ClosedForm> closedForm(const Schedule& schedule, const CostModel& costs);

} // namespace bubblescope
