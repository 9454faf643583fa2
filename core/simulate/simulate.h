#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/timeline/step_timeline.h"

namespace bubblescope {

/// Runs a schedule on a cost model: every rank executes its list in order, an op starts as soon as its
/// rank is free and its inputs have arrived (producer's end, plus the transfer's latency when the
/// producer is another rank). Sends cost the rank nothing. The two halves of an
/// overlapped pair start together, when the inputs of both are there, and end together. The timeline starts at 0 and
/// carries one send and one receive span per transfer. Time and memory are linear in ops.
///
/// Fails with an Input error when the order is invalid or deadlocks; the message names the first problem
/// that validate() finds.
[[nodiscard]] Result<StepTimeline> simulate(const Schedule& schedule, const CostModel& costs);

} // namespace bubblescope
