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
/// - The output of a stage goes to its neighbour on another rank as a transfer. The transfer takes latency + bytes /
///   bandwidth of its link, or its measured time. A transfer starts when the op and, with CommStreams other than
///   Unlimited, the earlier transfers on its stream have ended. A transfer occupies its stream until it ends. The two
///   transfers that an overlapped pair sends start together.
/// - Asynchronous sends take no time on the rank. The input arrives when the transfer ends. With `on_compute_stream`
///   the sender's next op also waits until its transfers have ended.
/// - Other sends and receives are posted between ops as described in rendezvous.h. A transfer then starts when both
///   ranks have posted it and its stream is free; transfers of one group do not wait for each other. A receiver is
///   blocked until the transfer ends; a sender only until it starts (until it ends with `on_compute_stream`). A group
///   lasts until none of its transfers blocks the rank.
///
/// The timeline starts at 0. Each transfer has a send span and a receive span, both as long as the transfer, and a wait
/// span if it kept a rank idle. Time and memory are linear in ops, apart from sorting the spans.
///
/// Errors: Input if the order is invalid or deadlocks, even if only in the model's send mode; the message names the
/// first problem that validate() found. Usage if per-stage times do not cover every stage, or if the sum of all times
/// does not fit in 64 bits.
[[nodiscard]] Result<StepTimeline> simulate(const Schedule& schedule, const CostModel& costs);

} // namespace bubblescope
