#include "core/report/results/compared.h"

#include <iterator>

namespace bubblescope::report {

Table comparisonTable(std::vector<Compared> rows, const std::vector<std::string>& further) {
    Table table({}, {shown("schedule", Align::Left), shown("makespan"), shown("bubble rate"), shown("span"),
                     shown("over ideal")});
    for (const std::string& title : further)
        table.columns.push_back(shown(title));
    table.indent = 0;
    constexpr auto kPercent = Look::Percent2;
    for (Compared& row : rows) {
        table.row(orderName(row.schedule), row.makespan, Cell(row.rates.over_makespan, kPercent),
                  Cell(row.rates.span, kPercent), Cell(row.rates.over_ideal, kPercent));
        std::ranges::move(row.further, std::back_inserter(table.rows.back()));
    }
    return table;
}

void addCompared(Section& object, const Compared& row) {
    object.data("schedule", row.schedule.name);
    object.data("flavor", row.schedule.flavor);
    object.data("makespan_ns", row.makespan);
    object.data("bubble_rate", row.rates.over_makespan);
    object.data("span_bubble_rate", row.rates.span);
    object.data("over_ideal", row.rates.over_ideal);
}

} // namespace bubblescope::report
