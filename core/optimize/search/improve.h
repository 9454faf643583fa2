#pragma once

#include "core/base/job.h"
#include "core/optimize/search/order_evaluator.h"

#include <cstdint>

namespace bubblescope {

/// What one search from one order may spend, and what it spent.
struct ImproveOptions {
    std::uint64_t seed = 0;
    std::int64_t effort = 0;     ///< ops that may be examined
    std::int64_t goal = 0;       ///< stops at this makespan
    std::int64_t patience = 300; ///< moves without a shorter step until it goes back to the best and shakes it
};

struct Improved {
    RankOrders orders;
    std::int64_t makespan = 0;
    std::int64_t moves = 0;  ///< carried out
    std::int64_t judged = 0; ///< estimated
    std::int64_t touched = 0;
};

/// Tabu search from an order. It moves ops of the longest chain: where the chain crosses to another rank, what lies
/// between goes behind the op that sends or before the op that receives. Of a few such moves the best by
/// OrderEvaluator::estimate() is carried out, even if the step gets longer, and its op then rests for some moves.
/// The result depends on the options alone, not on time, unless the job is stopped.
[[nodiscard]] Improved improveOrder(const OrderProblem& problem, const RankOrders& start, const ImproveOptions& options,
                                    const JobControl& control);

} // namespace bubblescope
