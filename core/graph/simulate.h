#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/timeline/step_timeline.h"

namespace bubblescope {

/// Simulates a schedule on a cost model. The rules:
///
/// - Every rank executes its list in order, one op at a time. An op starts as soon as its rank is free and its
///   inputs are there. The two halves of an overlapped pair start together, when the inputs of both are there,
///   and end together.
/// - The output of a stage goes to its neighbour on another rank as a transfer. It takes latency + bytes / bandwidth of
///   its link, or its measured time. It starts when its op has ended and, with CommStreams other than Unlimited, when
///   the transfers before it on its stream have ended; it occupies its stream until its end. The two transfers that an
///   overlapped pair sends start together.
/// - Asynchronous sends cost the rank nothing, and the input is there when the transfer ends. With `on_compute_stream`
///   the sender's next op also waits until its transfers have ended.
/// - Other sends and receives are posted between ops as rendezvous.h states. A transfer then starts when both ranks
/// have
///   posted it and its stream is free; transfers of one group do not queue behind each other. The receiver leaves it at
///   its end, the sender at its start, or with `on_compute_stream` at its end. A group lasts until its rank has left
///   all of its transfers.
///
/// The timeline starts at 0 and carries one send and one receive span per transfer, both over the transfer's time,
/// and one wait span for each transfer that kept a rank idle. Time and memory are linear in ops, but for sorting
/// the spans.
///
/// Errors: Input when the order is invalid or deadlocks, also with the model's kind of sends only; the message
/// names the first problem that validate() finds. Usage when per-stage times do not name every stage, or when times
/// are so long that they do not add up within 64 bits.
[[nodiscard]] Result<StepTimeline> simulate(const Schedule& schedule, const CostModel& costs);

} // namespace bubblescope
