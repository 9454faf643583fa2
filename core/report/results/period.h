#pragma once

#include "core/analysis/period/step_period.h"
#include "core/report/document.h"

namespace bubblescope::report {

/// "period": the time from the start of a step to the start of the next one. Empty if no two steps are consecutive, and
/// for people if the period equals the step within 1 %.
[[nodiscard]] Section periodSection(const StepPeriod& period, Reader reader);

} // namespace bubblescope::report
