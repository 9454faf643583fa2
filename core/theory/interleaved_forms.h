#pragma once

#include "core/schedule/schedule.h"
#include "core/theory/closed_form.h"

#include <vector>

namespace bubblescope {

// What theory says of interleaved 1F1B, whoever's order it is: all read from the order itself. As in ScheduleFamily.

[[nodiscard]] Result<ClosedForm> interleavedForm(const Schedule& schedule, const CostModel& costs);
[[nodiscard]] PeakForm interleavedPeaks(const Schedule& schedule);
[[nodiscard]] std::vector<QuotedForm> interleavedQuotes(const Schedule& schedule, const CostModel& costs);

} // namespace bubblescope
