#include "app/cli/comparison_table.h"

#include "app/cli/output.h"
#include "core/base/text.h"

#include <fmt/format.h>

namespace bubblescope::cli {

std::string comparisonTable(const std::vector<Compared>& rows, const std::vector<Table::Column>& further) {
    std::vector<Table::Column> columns{
        {"schedule", Table::Align::Left}, {"makespan"}, {"bubble rate"}, {"span"}, {"over ideal"}};
    columns.insert(columns.end(), further.begin(), further.end());
    Table table(std::move(columns));
    for (const Compared& row : rows) {
        std::vector<std::string> cells{orderName(row.schedule), formatTime(row.makespan),
                                       formatPercent(row.rates.over_makespan, 2), formatPercent(row.rates.span, 2),
                                       formatPercent(row.rates.over_ideal, 2)};
        cells.insert(cells.end(), row.further.begin(), row.further.end());
        table.row(std::move(cells));
    }
    return table.text(0);
}

Json comparedJson(const Compared& row) {
    return {{"schedule", row.schedule.name},       {"flavor", row.schedule.flavor},
            {"makespan_ns", row.makespan.count()}, {"bubble_rate", row.rates.over_makespan},
            {"span_bubble_rate", row.rates.span},  {"over_ideal", row.rates.over_ideal}};
}

} // namespace bubblescope::cli
