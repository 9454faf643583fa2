#pragma once

#include "app/cli/output.h"
#include "app/cli/table.h"
#include "core/schedule/schedule.h"
#include "core/timeline/bubbles.h"

#include <string>
#include <vector>

namespace bubblescope::cli {

/// One of several schedules that are compared, simulated or run.
struct Compared {
    const Schedule& schedule;
    TimeNs makespan{0};
    BubbleRates rates;
    std::vector<std::string> further; ///< cells of the table's further columns
};

/// A line for each: its title, makespan and bubble rates, then the further columns.
[[nodiscard]] std::string comparisonTable(const std::vector<Compared>& rows, const std::vector<Table::Column>& further);

/// What a line of the table says of a schedule, for a document to go on with.
[[nodiscard]] Json comparedJson(const Compared& row);

} // namespace bubblescope::cli
