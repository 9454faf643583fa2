#include "app/cli/comparison_table.h"

#include <iterator>

namespace bubblescope::cli {

report::Table comparisonTable(std::vector<Compared> rows, const std::vector<std::string>& further) {
    using report::shown;
    report::Table table({}, {shown("schedule", report::Align::Left), shown("makespan"), shown("bubble rate"),
                             shown("span"), shown("over ideal")});
    for (const std::string& title : further)
        table.columns.push_back(shown(title));
    table.indent = 0;
    constexpr auto kPercent = report::Look::Percent2;
    for (Compared& row : rows) {
        table.row(orderName(row.schedule), row.makespan, report::Cell(row.rates.over_makespan, kPercent),
                  report::Cell(row.rates.span, kPercent), report::Cell(row.rates.over_ideal, kPercent));
        std::ranges::move(row.further, std::back_inserter(table.rows.back()));
    }
    return table;
}

void addCompared(report::Section& object, const Compared& row) {
    object.data("schedule", row.schedule.name);
    object.data("flavor", row.schedule.flavor);
    object.data("makespan_ns", row.makespan);
    object.data("bubble_rate", row.rates.over_makespan);
    object.data("span_bubble_rate", row.rates.span);
    object.data("over_ideal", row.rates.over_ideal);
}

} // namespace bubblescope::cli
