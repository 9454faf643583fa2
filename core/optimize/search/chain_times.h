#pragma once

#include "core/optimize/search/order_problem.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// Bounds for each op in any order: by op, in nanoseconds.
struct ChainTimes {
    std::vector<std::int64_t> head; ///< it starts no earlier
    std::vector<std::int64_t> tail; ///< minimum time from its start to the end of the step
};

/// From the chains of ops that a micro-batch passes. O(ops).
[[nodiscard]] ChainTimes chainTimes(const OrderProblem& problem);

/// For orders that take the micro-batches of each kind and stage in turn. `problem` must be uniform(); then there is
/// such an order among the shortest. Longer than chainTimes(), because ops wait for each other
///  - on the way of a micro-batch through the stages,
///  - - in their queue: the k-th op of a kind and stage comes after the previous one,
///  - - for memory, unless `memory` is false: a forward that finds all of it taken by its stage waits for the op that
///    frees some,
///  - for their rank: all ops of the rank that must come before an op have run when it starts,
///  - - for what frees memory on their rank: before a forward, enough ops must have run to make room for it, whichever
///  chunks they belong to; they take the rank at least as long as the cheapest ones. O(ranks · chunks² · micro-batches
///  · log(ops of a rank) + stages²).
[[nodiscard]] ChainTimes queueTimes(const OrderProblem& problem, bool memory = true);

} // namespace bubblescope
