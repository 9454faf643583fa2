#pragma once

#include "core/base/job.h"
#include "core/optimize/search/improve.h"
#include "core/optimize/search/order_problem.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace bubblescope {

/// Random variation of op times: each time is multiplied by a factor drawn uniformly from 1 − `share` to 1 + `share`.
/// The same seed gives each op the same factors in all orders.
struct NoiseModel {
    double share = 0;
    int draws = 200;
    std::uint64_t seed = 0;
};

struct NoisySteps {
    std::int64_t mean = 0; ///< ns
    std::int64_t late = 0; ///< 95th percentile of the step time
};

/// The makespans of an order with noise, for plain() problems. `fused` is as in scheduleOf(). The order must not
/// deadlock. O(draws · ops).
[[nodiscard]] NoisySteps noisySteps(const OrderProblem& problem, const RankOrders& orders,
                                    const std::vector<char>& fused, const NoiseModel& noise);

/// A lower bound on the mean of any order, even one chosen with each draw's times known: the mean of the draws' bounds.
/// Empty if the draws together have too many ops, or the job is stopped.
[[nodiscard]] std::optional<std::int64_t> noisyBound(const OrderProblem& problem, const NoiseModel& noise,
                                                     const JobControl& control);

/// Starting from an order, searches for an order with a shorter mean over some of the draws. A move is proposed by the
/// longest chain of one draw and applied to all draws. A move is kept if the mean is at most what it was some moves
/// earlier (late acceptance: Burke and Bykov 2017). For plain() problems. `makespan` of the result excludes noise.
[[nodiscard]] Improved improveUnderNoise(const OrderProblem& problem, const RankOrders& start, const NoiseModel& noise,
                                         const ImproveOptions& options, const JobControl& control);

} // namespace bubblescope
