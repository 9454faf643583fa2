#pragma once

#include "core/base/sentence.h"
#include "core/optimize/search/order_problem.h"

#include <cstdint>

namespace bubblescope {

/// No order of a problem has a shorter step.
struct StepBound {
    std::int64_t time = 0; ///< ns
    Sentence reason;
};

/// The largest of three kinds of bound, each of which holds for any order within the memory:
///
/// - Chain: one micro-batch passes all stages and back.
/// - Work: a rank does one op at a time, each within what chain_times.h finds for it. Of any set of its ops, the
///   earliest start, their times, and the least time after one of them (one_machine.h).
/// - Memory: a rank holds a micro-batch from its forward, over the way to the last stage and back, to its last
///   gradient. Where few fit, the later ones wait for the earlier ones; and what all micro-batches hold over time fits
///   into the rank's memory times the step. Before a rank's first gradient, it runs nothing but forwards, and only as
///   many as fit; behind its last one, only the weight gradients of what it still holds.
///
/// Holds with any mode of sends, since transfers then take no less. Takes as long as queueTimes().
[[nodiscard]] StepBound stepBound(const OrderProblem& problem);

} // namespace bubblescope
