#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/timeline/step_timeline.h"

namespace bubblescope {

/// Runs a schedule on a cost model. The rules:
///
/// - Every rank executes its list in order, one op at a time. An op starts as soon as its rank is free and its
///   inputs are there. The two halves of an overlapped pair start together, when the inputs of both are there,
///   and end together.
/// - What a stage hands to its neighbour on another rank is a transfer. It takes latency + bytes / bandwidth of
///   its link, or its measured time. It starts when its op has ended and, with CommStreams other than Unlimited,
///   when the transfers before it on its stream are through; it is on its stream for all of its time. The two
///   transfers that an overlapped pair sends start together.
/// - Asynchronous sends cost the rank nothing, and the input is there when the transfer ends. With
///   `on_compute_stream` the sender's next op waits until its transfers are through; the receiver's waits for its
///   input as ever.
/// - Otherwise sends and receives are posted between ops as rendezvous.h states. A transfer then starts when both
///   ranks have posted it (and its stream is free; those of one group do not queue behind each other). The receiver
///   leaves it at its end, the sender at its start, or with `on_compute_stream` at its end. A group takes until its
///   rank has left all of its transfers.
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
