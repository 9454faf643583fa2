#pragma once

#include "core/optimize/search/order_problem.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// Ops that take longer or shorter by chance: each by a factor drawn evenly from 1 − `share` to 1 + `share`. The same
/// seed gives each op the same factors in all orders.
struct NoiseModel {
    double share = 0;
    int draws = 200;
    std::uint64_t seed = 0;
};

struct NoisySteps {
    std::int64_t mean = 0; ///< ns
    std::int64_t late = 0; ///< 95 of 100 steps are no longer
};

/// The makespans of an order under noise, for plain() problems. `fused` as in scheduleOf(). The order must not
/// deadlock. O(draws · ops).
[[nodiscard]] NoisySteps noisySteps(const OrderProblem& problem, const RankOrders& orders,
                                    const std::vector<char>& fused, const NoiseModel& noise);

} // namespace bubblescope
