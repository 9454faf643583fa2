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
/// - Chain: one micro-batch passes through all stages and back.
/// - Work: a rank runs one op at a time, each op within its time bounds (chain_times.h). For any set of its ops, the
///   bound is the earliest start, plus all op times, plus the minimum time after one of the ops (one_machine.h).
/// - Memory: a rank holds a micro-batch from its forward on the way to the last stage until its last gradient on
///   the way back. If only a few micro-batches fit, later ones wait for earlier ones. The sum over all micro-
///   batches of memory times duration is at most the rank's memory times the step time. Before its first gradient,
///   a rank runs only forwards, at most as many as fit in memory; after its last gradient, it runs only the
///   remaining weight gradients.
///
/// Valid in every send mode, because transfers take at least as long in the other modes. Takes as long as queueTimes().
[[nodiscard]] StepBound stepBound(const OrderProblem& problem);

} // namespace bubblescope
