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
/// - Work: of any set of a rank's ops, the shortest way to one of them, their times, and the shortest way from one of
///   them to the end (the one-machine bound of job shops; sets are ops of some kinds and stages).
/// - Memory: a rank holds a micro-batch from its forward, over the way to the last stage and back, to its last
/// gradient.
///   Where few fit, the later ones wait for the earlier ones; and what all micro-batches hold over time fits into the
///   rank's memory times the step.
///
/// Holds with any mode of sends, since transfers then take no less. O(ranks · chunks² + ranks · stages ·
/// micro-batches).
[[nodiscard]] StepBound stepBound(const OrderProblem& problem);

} // namespace bubblescope
