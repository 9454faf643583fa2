#pragma once

#include "core/families/registry.h"
#include "core/theory/closed_form.h"

#include <array>
#include <cstddef>

namespace bubblescope::test {

/// Ratio of the forward to the complete backward.
struct Ratio {
    int forward;
    int backward;
};
inline constexpr std::array kRatios{Ratio{1, 1}, Ratio{1, 2}, Ratio{2, 3}, Ratio{3, 1}};

[[nodiscard]] OpTimes wholeTimes(Ratio ratio);

/// Times for a split backward.
[[nodiscard]] OpTimes splitTimes(int forward, int input_grad, int weight_grad);

/// Result of a comparison.
struct FormCheck {
    bool refused = false; ///< there is no closed form, and the schedule cannot be simulated either
    FormKind kind = FormKind::Exact;
    int compared = 0; ///< number of compared values
};

/// Compares the closed form of a schedule with its simulation; each difference is a test failure. An exact form must
/// match makespan, totals per rank, rates, and the positions of the consolidated step (all of them if the form contains
/// all). A bound must be a bound of makespan and totals. Peak activations are compared if there is a form for them.
/// If there is no form, the simulation must fail too.
[[nodiscard]] FormCheck checkForm(const Schedule& schedule, const CostModel& costs);

/// Like checkForm(), for a form that must be exact. Returns the number of compared values.
int compareWithSimulation(const ScheduleSpec& spec, const CostModel& costs);
int compareWithSimulation(const ScheduleSpec& spec, const OpTimes& times);

/// Checks that each quoted form holds exactly if it equals the simulation. Returns the number of comparisons.
int checkQuotes(const Schedule& schedule, const CostModel& costs);

/// True if a grid up to p = 16 includes `p`. The values 9, 11 and 13 to 15 require BUBBLESCOPE_GRIDS=full in the
/// environment: they take longer than all others together, and have never revealed additional problems.
[[nodiscard]] bool inGrid(int p);

/// True if such a grid includes the times with this index at p and m: all up to p = 8; above that, every second index
/// for even or odd m alternately. With BUBBLESCOPE_GRIDS=full, the grid includes all times.
[[nodiscard]] bool timesInGrid(int p, int m, std::size_t index);

/// Prints the number and stores it in the test's record.
void reportCompared(int compared);

} // namespace bubblescope::test
