#pragma once

#include "core/schedule/schedule.h"
#include "core/timeline/step_timeline.h"

namespace bubblescope {

/// The two encoders before the trunk of a step whose ranks have one chunk each, derived from the order: each rank of
/// 1F1B runs one warm-up forward less than the one before it, and at the first rank of the second encoder the count
/// starts again. Where the trunk begins follows from the next such border or, if the second encoder is at least as long
/// as the first, from times: the first encoder's gradients come from the trunk. Zeros if the order is not that of two
/// encoders, or if there are too few micro-batches to tell. One encoder looks like a longer trunk.
[[nodiscard]] Encoders shownEncoders(const StepTimeline& step);

} // namespace bubblescope
