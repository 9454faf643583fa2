#pragma once

#include "core/optimize/search/order_problem.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// How listOrder() chooses among the ops that a rank could run next.
struct ListRule {
    /// Micro-batches in flight on a rank, as a multiple of what covers the way to the last stage and back at the speed
    /// of the slowest rank.
    double in_flight = 1;
    bool forward_first = false; ///< below that number, a forward before an input gradient
    bool strict = false;        ///< never more in flight, even where the rank has nothing else to do
    bool deep_first = true;     ///< the later chunk first; else the earlier one
    double patience = 0;        ///< waits for an op that arrives within this share of the time of the other choice
    double fill = 0;            ///< a weight gradient runs where at least this share of it fits before the next arrival
    double noise = 0;           ///< random share by which ways to the end are misjudged
    std::uint64_t seed = 0;
};

/// Makes an order in the way in which it would run: whenever a rank is free it takes the op that the rule prefers among
/// those that memory allows. A chunk's forward leaves room for the later chunks of the rank, so that no order
/// deadlocks. O(ops · (ranks + chunks)).
[[nodiscard]] RankOrders listOrder(const OrderProblem& problem, const ListRule& rule);

/// The chain of ops that every order must run before an op starts, and from its start to the end, by op.
struct ChainTimes {
    std::vector<std::int64_t> head;
    std::vector<std::int64_t> tail; ///< from the start
};
[[nodiscard]] ChainTimes chainTimes(const OrderProblem& problem);

} // namespace bubblescope
