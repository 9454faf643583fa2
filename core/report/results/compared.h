#pragma once

#include "core/report/document.h"
#include "core/schedule/schedule.h"
#include "core/timeline/bubbles.h"

#include <string>
#include <vector>

namespace bubblescope::report {

/// A schedule in a comparison, either simulated or run.
struct Compared {
    const Schedule& schedule;
    TimeNs makespan{0};
    BubbleRates rates;
    std::vector<Cell> further; ///< cells of the table's additional columns
};

/// For people: one row per schedule with its title, makespan and bubble rates, followed by the additional columns.
[[nodiscard]] Table comparisonTable(std::vector<Compared> rows, const std::vector<std::string>& further);

/// For programs: adds the first members of the schedule's object.
void addCompared(Section& object, const Compared& row);

} // namespace bubblescope::report
