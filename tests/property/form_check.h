#pragma once

#include "core/schedule/registry.h"

#include <array>

namespace bubblescope::test {

/// Forward to whole backward.
struct Ratio {
    int forward;
    int backward;
};
inline constexpr std::array kRatios{Ratio{1, 1}, Ratio{1, 2}, Ratio{2, 3}, Ratio{3, 1}, Ratio{7, 5}};

[[nodiscard]] OpTimes wholeTimes(Ratio ratio);

/// A backward in halves.
[[nodiscard]] OpTimes splitTimes(int forward, int input_grad, int weight_grad);

/// A spec's closed form against its simulation: makespan and total per rank always; where the form has
/// positions, every position of the consolidated step. Returns how many values were compared.
int compareWithSimulation(const ScheduleSpec& spec, const OpTimes& times);

} // namespace bubblescope::test
