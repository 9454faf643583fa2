#pragma once

#include "core/analysis/period/step_period.h"
#include "core/report/document.h"

namespace bubblescope::report {

/// "period": what a step costs the job from begin to begin. Empty where no two steps follow each other, and for people
/// where the period is the step within 1 %.
[[nodiscard]] Section periodSection(const StepPeriod& period, Reader reader);

} // namespace bubblescope::report
