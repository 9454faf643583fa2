#pragma once

#include "core/timeline/step_timeline.h"

namespace bubblescope {

/// Has a step begin at another time: its window, ops and transfers move alike.
void moveTo(StepTimeline& step, TimeNs begin);

} // namespace bubblescope
