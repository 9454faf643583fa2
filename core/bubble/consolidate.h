#pragma once

#include "core/timeline/step_timeline.h"

namespace bubblescope {

/// Re-times a step within its slack so that idle time gathers at the closed forms' positions; the
/// makespan, every op's duration, every rank's order and every transfer's latency stay what they were.
/// Ops only ever move later. Closed-form positions refer to the result of this.
[[nodiscard]] StepTimeline consolidate(const StepTimeline& step);

} // namespace bubblescope
