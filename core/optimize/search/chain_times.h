#pragma once

#include "core/optimize/search/order_problem.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// Bounds for each op in any order: by op, in nanoseconds.
struct ChainTimes {
    std::vector<std::int64_t> head; ///< lower bound on its start
    std::vector<std::int64_t> tail; ///< minimum time from its start to the end of the step
};

/// Bounds from the chains of ops that a micro-batch passes. O(ops).
[[nodiscard]] ChainTimes chainTimes(const OrderProblem& problem);

/// Bounds for orders that take the micro-batches of each kind and stage in turn. `problem` must be uniform(); one of
/// the shortest orders then has this property. Tighter than chainTimes(), because ops also wait for each other
///  - on the way of a micro-batch through the stages,
///  - in their queue: the k-th op of a kind and stage comes after the previous one,
///  - for memory, unless `memory` is false: a forward whose stage already holds all of it waits for the op that frees
///    some,
///  - for their rank: all ops of the rank that must come before an op have run when it starts,
///  - for what frees memory on their rank: before a forward, enough ops must have run to make room for it, whichever
///    chunks they belong to; they take at least the time of the cheapest ones. O(ranks · chunks² · micro-batches ·
///    log(ops of a rank) + stages²).
[[nodiscard]] ChainTimes queueTimes(const OrderProblem& problem, bool memory = true);

} // namespace bubblescope
