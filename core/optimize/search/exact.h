#pragma once

#include "core/base/job.h"
#include "core/optimize/search/order_problem.h"

#include <cstdint>
#include <optional>

namespace bubblescope {

struct ExactAnswer {
    std::optional<RankOrders> orders; ///< shorter than what was known, if found
    std::int64_t makespan = 0;        ///< of these, or what was known
    bool complete = false;            ///< no order is shorter
    std::int64_t nodes = 0;           ///< partial orders examined
};

/// Rules out all orders whose step is not shorter than `known`, or finds shorter ones, by branch and bound over the
/// orders in which ops can start. Micro-batches are equivalent, so each kind and stage takes them in turn. A partial
/// order is dropped if its one-machine bounds reach the best makespan, or if another one with the same ops left every
/// rank and every output no later. Stops after `most_nodes`.
///
/// For plain() and uniform() problems; for others the result is not complete. Deterministic.
[[nodiscard]] ExactAnswer exactOrder(const OrderProblem& problem, std::int64_t known, std::int64_t most_nodes,
                                     const JobControl& control);

} // namespace bubblescope
