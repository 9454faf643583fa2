#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/timeline/step_timeline.h"

namespace bubblescope {

/// Simulates a schedule on a cost model. Rules:
///
/// - Every rank executes its list in order, one op at a time. An op starts as soon as its rank is free and its inputs
///   have arrived. The two halves of an overlapped pair start together, when the inputs of both have arrived, and end
///   together.
/// - The output of a stage goes to its neighbour on another rank as a transfer. It takes latency + bytes / bandwidth
///   of its link, or its measured time. It starts when its op has ended and, with CommStreams other than Unlimited,
///   when the earlier transfers on its stream have ended; it occupies its stream until its end. The two transfers that
///   an overlapped pair sends start together.
/// - Asynchronous sends cost the rank nothing, and the input arrives when the transfer ends. With `on_compute_stream`
///   the sender's next op also waits until its transfers have ended.
/// - Other sends and receives are posted between ops as described in rendezvous.h. A transfer then starts when both
///   ranks have posted it and its stream is free; transfers of one group do not wait for each other. A receiver is
///   blocked until the transfer ends; a sender only until it starts (until it ends with `on_compute_stream`). A group
///   lasts until none of its transfers blocks its rank.
///
/// The timeline starts at 0. It has one send and one receive span per transfer, both covering the transfer's time, and
/// one wait span per transfer that kept a rank idle. Time and memory are linear in ops, apart from sorting the spans.
///
/// Errors: Input if the order is invalid or deadlocks, even if only because of the model's send mode; the message names
/// the first problem that validate() finds. Usage if per-stage times do not cover every stage, or if times are so long
/// that their sum exceeds 64 bits.
[[nodiscard]] Result<StepTimeline> simulate(const Schedule& schedule, const CostModel& costs);

} // namespace bubblescope
