#pragma once

#include "core/base/sentence.h"
#include "core/optimize/search/order_problem.h"

#include <cstdint>

namespace bubblescope {

/// A lower bound on the step time of any order of a problem.
struct StepBound {
    std::int64_t time = 0; ///< ns
    Sentence reason;
};

/// The maximum of three kinds of bounds, each valid for any order within the memory:
///
/// - Chain: one micro-batch passes all stages and back.
/// - Work: a rank runs one op at a time, each within its bounds of chain_times.h. For any set of its ops: the
///   earliest start, plus their times, plus the minimum time after one of them (one_machine.h).
/// - Memory: a rank holds a micro-batch from its forward, over the way to the last stage and back, to its last
///   gradient. If few fit, the later ones wait for the earlier ones; and the memory of all micro-batches over time fits
///   into the rank's memory times the step. Before its first gradient, a rank only runs forwards, and only as many as
///   fit; after its last one, only the weight gradients of what it still holds.
///
/// Valid in every send mode, because transfers do not take less time in the other modes. Takes as long as queueTimes().
[[nodiscard]] StepBound stepBound(const OrderProblem& problem);

} // namespace bubblescope
