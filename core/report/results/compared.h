#pragma once

#include "core/report/document.h"
#include "core/schedule/schedule.h"
#include "core/timeline/bubbles.h"

#include <string>
#include <vector>

namespace bubblescope::report {

/// One of several compared schedules, simulated or run.
struct Compared {
    const Schedule& schedule;
    TimeNs makespan{0};
    BubbleRates rates;
    std::vector<Cell> further; ///< cells of the table's further columns
};

/// For people: one row per schedule with its title, makespan and bubble rates, then the further columns.
[[nodiscard]] Table comparisonTable(std::vector<Compared> rows, const std::vector<std::string>& further);

/// For programs: the first members of one schedule's object.
void addCompared(Section& object, const Compared& row);

} // namespace bubblescope::report
