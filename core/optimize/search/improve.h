#pragma once

#include "core/base/job.h"
#include "core/optimize/search/order_evaluator.h"

#include <cstdint>

namespace bubblescope {

/// The budget of one search from one order, and the part already spent.
struct ImproveOptions {
    std::uint64_t seed = 0;
    std::int64_t effort = 0;     ///< number of ops that may be examined
    std::int64_t goal = 0;       ///< stops at this makespan
    std::int64_t patience = 300; ///< moves without a shorter step before the search returns to the best order and
                                 ///< perturbs it
};

struct Improved {
    RankOrders orders;
    std::int64_t makespan = 0;
    std::int64_t moves = 0;  ///< carried out
    std::int64_t judged = 0; ///< estimated
    std::int64_t touched = 0;
};

/// Tabu search from an order. It moves ops of the longest chain: inside each block of consecutive ops on one rank, ops
/// move behind the op that sends or before the op that receives. The best of a few such moves by
/// OrderEvaluator::estimate() is carried out, even if the step gets longer; its op is then left alone for some moves.
/// The result depends only on the options, not on time, unless the job is stopped.
[[nodiscard]] Improved improveOrder(const OrderProblem& problem, const RankOrders& start, const ImproveOptions& options,
                                    const JobControl& control);

} // namespace bubblescope
