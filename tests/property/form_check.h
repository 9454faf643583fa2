#pragma once

#include "core/families/registry.h"
#include "core/theory/closed_form.h"

#include <array>
#include <cstddef>

namespace bubblescope::test {

/// Forward to whole backward.
struct Ratio {
    int forward;
    int backward;
};
inline constexpr std::array kRatios{Ratio{1, 1}, Ratio{1, 2}, Ratio{2, 3}, Ratio{3, 1}};

[[nodiscard]] OpTimes wholeTimes(Ratio ratio);

/// A backward in halves.
[[nodiscard]] OpTimes splitTimes(int forward, int input_grad, int weight_grad);

/// The result of a comparison.
struct FormCheck {
    bool refused = false; ///< no form; the schedule cannot be simulated either
    FormKind kind = FormKind::Exact;
    int compared = 0; ///< values
};

/// A schedule's closed form against its simulation. Exact: makespan, total per rank, rates, and the positions of the
/// consolidated step, all of them where the form knows all. A bound: makespan and totals on its side of
/// the simulated ones. Peak activations always, where there is a form of them. Without a form the simulation must
/// fail too. Each difference is a test failure.
[[nodiscard]] FormCheck checkForm(const Schedule& schedule, const CostModel& costs);

/// As checkForm(), for a form that must be exact; returns how many values were compared.
int compareWithSimulation(const ScheduleSpec& spec, const CostModel& costs);
int compareWithSimulation(const ScheduleSpec& spec, const OpTimes& times);

/// Whether each quoted form of the schedule holds just where it equals the simulation; returns how many were compared.
int checkQuotes(const Schedule& schedule, const CostModel& costs);

/// Whether a grid up to p = 16 takes `p`. 9, 11 and 13 to 15, which take longer than all others together and have
/// never found more than they do, run only with BUBBLESCOPE_GRIDS=full in the environment.
[[nodiscard]] bool inGrid(int p);

/// Whether such a grid takes the times of that index at p and m: all up to p = 8, beyond it every second one, the
/// others at the next m. With BUBBLESCOPE_GRIDS=full it takes all.
[[nodiscard]] bool timesInGrid(int p, int m, std::size_t index);

/// Notes the number in the test's record and prints it.
void reportCompared(int compared);

} // namespace bubblescope::test
