#pragma once

#include "core/optimize/search/order_problem.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// Bounds for each op, in nanoseconds, that are valid in any order; indexed by op.
struct ChainTimes {
    std::vector<std::int64_t> head; ///< lower bound on the op's start
    std::vector<std::int64_t> tail; ///< minimum time from the op's start to the end of the step
};

/// Bounds from the chains of ops that a micro-batch passes through. O(ops).
[[nodiscard]] ChainTimes chainTimes(const OrderProblem& problem);

/// Bounds for orders that run the micro-batches of each kind and stage in sequence. `problem` must be uniform(); one of
/// the shortest orders then has this property. Tighter than chainTimes(), because ops also wait for each other
///  - on the path of a micro-batch through the stages,
///  - in their queue: the k-th op of a kind and stage comes after the previous one,
///  - for memory, unless `memory` is false: a forward of a stage that occupies all of the memory waits for the op that
///    frees some,
///  - for their rank: all ops of the rank that must come before an op have run when it starts,
///  - for what frees memory on their rank: before a forward, enough ops of any chunk must have run to make room for it.
///    These ops take at least as long as the cheapest ones. O(ranks · chunks² · micro-batches · log(ops of a rank) +
///    stages²).
[[nodiscard]] ChainTimes queueTimes(const OrderProblem& problem, bool memory = true);

} // namespace bubblescope
