#pragma once

#include "core/base/job.h"
#include "core/optimize/search/order_problem.h"

#include <cstdint>
#include <optional>

namespace bubblescope {

struct ExactAnswer {
    std::optional<RankOrders> orders; ///< an order that is shorter than the known one, if found
    std::int64_t makespan = 0;        ///< of `orders`, or the known one
    bool complete = false;            ///< true if no order is shorter
    std::int64_t nodes = 0;           ///< partial orders examined
};

/// Rules out all orders whose step is not shorter than `known`, or finds shorter ones, by branch and bound over the
/// orders in which ops can start. Micro-batches are equivalent, so each kind and stage takes them in turn. A partial
/// order is dropped if its one-machine bounds reach the best makespan, or if another one with the same ops has every
/// rank and every output available no later. Stops after `most_nodes`.
///
/// For plain() and uniform() problems; for other problems the result is never complete. Deterministic.
[[nodiscard]] ExactAnswer exactOrder(const OrderProblem& problem, std::int64_t known, std::int64_t most_nodes,
                                     const JobControl& control);

} // namespace bubblescope
