#include "core/report/data_table.h"

#include "core/base/csv_cell.h"

#include <fmt/format.h>

#include <iterator>

namespace bubblescope::report {
namespace {

void addCell(std::string& line, const DataColumn& column, std::size_t row) {
    if (column.null(row)) return;
    const auto number = [&line](auto value) { fmt::format_to(std::back_inserter(line), "{}", value); };
    switch (column.type()) {
    case ColumnType::Int32: number(column.int32s()[row]); break;
    case ColumnType::Int64: number(column.int64s()[row]); break;
    case ColumnType::Float64: number(column.float64s()[row]); break;
    case ColumnType::Bool: line += column.bits().at(row) ? "true" : "false"; break;
    case ColumnType::Text: line += csvCell(column.texts().text(static_cast<std::size_t>(column.int32s()[row]))); break;
    }
}

} // namespace

void writeCsv(const DataTable& table, const std::function<void(std::string_view)>& sink) {
    std::string line;
    for (const DataColumn& column : table.columns()) {
        line += line.empty() ? "" : ",";
        line += csvCell(column.name());
    }
    sink(line += '\n');
    for (std::size_t row = 0; row < table.rows(); ++row) {
        line.clear();
        for (const DataColumn& column : table.columns()) {
            if (&column != &table.columns().front()) line += ',';
            addCell(line, column, row);
        }
        sink(line += '\n');
    }
}

} // namespace bubblescope::report
