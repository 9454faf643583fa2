#pragma once

#include "core/timeline/step_timeline.h"

#include <span>

namespace bubblescope {

/// Re-times a step within its slack so that idle time gathers at the closed forms' positions; the
/// makespan, every op's duration, every rank's order and every transfer's latency stay what they were.
/// Ops only ever move later; the halves of an overlapped pair move together. Closed-form positions refer to the
/// result of this. A step whose ops are incomplete or contradict the dependencies is returned as it is.
///
/// In 1F1B the result is unique. Schedules with more warm-up leave a choice of how much of the middle
/// bubble lies before the steady part and how much behind it: `before_steady` (per rank, may be shorter
/// than pp) says how much should lie before it, and is followed as far as the slack allows. Without it as
/// little as possible lies before the steady part.
///
/// Where more is free, this is the choice: warm-up stays as early as it was, so that its gaps stay where they are. A
/// steady part that no delay rids of its gaps begins as late as the makespan allows. Cool-down comes as late as
/// it can, but the weight gradients behind a rank's last input gradient follow that at once.
[[nodiscard]] StepTimeline consolidate(const StepTimeline& step, std::span<const TimeNs> before_steady = {});

} // namespace bubblescope
