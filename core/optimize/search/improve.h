#pragma once

#include "core/base/job.h"
#include "core/optimize/search/order_evaluator.h"

#include <cstdint>

namespace bubblescope {

/// The budget of a search from one start order.
struct ImproveOptions {
    std::uint64_t seed = 0;
    std::int64_t effort = 0;     ///< maximum number of ops to examine
    std::int64_t goal = 0;       ///< makespan at which the search stops
    std::int64_t patience = 300; ///< number of moves without progress after which the search returns to the best order
                                 ///< and perturbs it
};

struct Improved {
    RankOrders orders;
    std::int64_t makespan = 0;
    std::int64_t moves = 0;  ///< carried out
    std::int64_t judged = 0; ///< estimated
    std::int64_t touched = 0;
};

/// Tabu search from a start order. The search moves ops on the longest chain: inside each block of consecutive ops on
/// one rank, ops move after the op that sends or before the op that receives. The best of a few such moves according
/// to OrderEvaluator::estimate() is applied, even if the step gets longer. The moved op then cannot be moved again for
/// a number of moves. The result depends only on the options, not on time, unless the job is stopped.
[[nodiscard]] Improved improveOrder(const OrderProblem& problem, const RankOrders& start, const ImproveOptions& options,
                                    const JobControl& control);

} // namespace bubblescope
