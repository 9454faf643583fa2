#pragma once

#include "core/base/job.h"
#include "core/optimize/search/order_problem.h"

#include <cstdint>
#include <optional>

namespace bubblescope {

struct ExactAnswer {
    std::optional<RankOrders> orders; ///< an order that is shorter than the known one, if found
    std::int64_t makespan = 0;        ///< makespan of `orders` or, if empty, of the known order
    bool complete = false;            ///< true if there is provably no shorter order
    std::int64_t nodes = 0;           ///< number of partial orders examined
};

/// Proves that no order has a shorter step than `known`, or finds shorter ones, by branch and bound over the orders in
/// which ops can start. Micro-batches are equivalent, so each kind and stage runs them in sequence. A partial order is
/// dropped if its one-machine bounds reach the best makespan, or if another partial order with the same ops is not
/// later on any rank or output. Stops after `most_nodes`.
///
/// For plain() and uniform() problems; with other problems, the result is never complete. Deterministic.
[[nodiscard]] ExactAnswer exactOrder(const OrderProblem& problem, std::int64_t known, std::int64_t most_nodes,
                                     const JobControl& control);

} // namespace bubblescope
