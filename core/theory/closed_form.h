#pragma once

#include "core/base/result.h"
#include "core/theory/forms/form.h"

namespace bubblescope {

/// The bubbles and the makespan of a schedule at these costs according to theory: the closed form of its family if one
/// covers them, else orderBound(), with the reason in `note`. Peaks and quoted forms are added if known. Thread-safe.
/// Errors: Input if the schedule is invalid or deadlocks; Usage if `costs` do not fit it.
[[nodiscard]] Result<ClosedForm> closedForm(const Schedule& schedule, const CostModel& costs);

/// The lower bound on a step's makespan that holds for any order. Totals only. O(ops). `costs` name every stage or
/// none; queues of transfers and blocking sends are ignored, so the bound holds with them too. Errors: Input if the
/// schedule is invalid or deadlocks; Usage if `costs` name single ops.
[[nodiscard]] Result<ClosedForm> orderBound(const Schedule& schedule, const CostModel& costs);

} // namespace bubblescope
