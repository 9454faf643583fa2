#include "core/report/data_table.h"

#include "core/base/csv_cell.h"

namespace bubblescope::report {
namespace {

void addCell(CsvLine& line, const DataColumn& column, std::size_t row) {
    if (column.null(row)) return line.empty();
    switch (column.type()) {
    case ColumnType::Int32: return line.value(column.int32s()[row]);
    case ColumnType::Int64: return line.value(column.int64s()[row]);
    case ColumnType::Float64: return line.value(column.float64s()[row]);
    case ColumnType::Bool: return line.value(column.bits().at(row));
    case ColumnType::Text: return line.text(column.texts().text(static_cast<std::size_t>(column.int32s()[row])));
    }
}

} // namespace

void writeCsv(const DataTable& table, const std::function<void(std::string_view)>& sink) {
    CsvLine line;
    for (const DataColumn& column : table.columns())
        line.text(column.name());
    sink(line.end());
    for (std::size_t row = 0; row < table.rows(); ++row) {
        for (const DataColumn& column : table.columns())
            addCell(line, column, row);
        sink(line.end());
    }
}

} // namespace bubblescope::report
