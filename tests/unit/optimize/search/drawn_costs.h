#pragma once

#include "core/cost/cost_model.h"

#include <random>
#include <vector>

namespace bubblescope::test {

/// Draws a random time between `least` and `most` microseconds.
inline TimeNs drawnTime(std::mt19937_64& random, int least, int most) {
    return TimeNs{1000 * (least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1)))};
}

/// Costs of stages with different times: 50 to 150 us for forwards and for gradients.
inline CostModel unevenCosts(int stages, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    CostModel costs;
    for (int s = 0; s < stages; ++s) {
        OpTimes times;
        times.forward = drawnTime(random, 50, 150);
        times.input_grad = drawnTime(random, 50, 150);
        times.weight_grad = drawnTime(random, 30, 120);
        times.backward = times.input_grad + times.weight_grad;
        costs.stages.push_back(times);
    }
    costs.comm = drawnTime(random, 0, 15);
    return costs;
}

/// Work after the last op of each rank, up to 400 us.
inline std::vector<TimeNs> drawnAfter(int ranks, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<TimeNs> after;
    for (int r = 0; r < ranks; ++r)
        after.push_back(drawnTime(random, 0, 400));
    return after;
}

} // namespace bubblescope::test
