#include "app/gui/models/query_rows_model.h"

#include "app/gui/language/text.h"

#include <algorithm>

namespace bubblescope::gui {

namespace {

QVariant valueOf(const report::DataColumn& column, std::size_t row) {
    switch (column.type()) {
    case report::ColumnType::Int32: return column.int32s()[row];
    case report::ColumnType::Int64: return static_cast<qlonglong>(column.int64s()[row]);
    case report::ColumnType::Float64: return column.float64s()[row];
    case report::ColumnType::Bool: return column.bits().at(row);
    case report::ColumnType::Text:
        return fromUtf8(std::string(column.texts().text(static_cast<std::size_t>(column.int32s()[row]))));
    }
    return {};
}

} // namespace

void QueryRowsModel::show(report::DataTable rows) {
    beginResetModel();
    rows_ = std::move(rows);
    forgetColumns();
    endResetModel();
}

std::optional<std::int64_t> QueryRowsModel::number(int row, std::string_view name) const {
    const auto found = std::ranges::find(rows_.columns(), name, &report::DataColumn::name);
    const auto at = static_cast<std::size_t>(row);
    if (found == rows_.columns().end() || found->type() != report::ColumnType::Int64 || found->null(at))
        return std::nullopt;
    return found->int64s()[at];
}

std::vector<ColumnModel::Column> QueryRowsModel::columns() const {
    std::vector<Column> out;
    for (const report::DataColumn& column : rows_.columns())
        out.push_back({fromUtf8(column.name()), column.type() != report::ColumnType::Text});
    return out;
}

QVariant QueryRowsModel::cell(std::size_t row, int column, int role) const {
    const report::DataColumn& of = rows_.columns()[static_cast<std::size_t>(column)];
    const bool is_text = of.type() == report::ColumnType::Text;
    const bool is_shown = role == Qt::DisplayRole || (role == Qt::ToolTipRole && is_text);
    if ((!is_shown && role != kSortRole) || of.null(row)) return {};
    const QVariant value = valueOf(of, row);
    // Without digit grouping, so that copied text is a number.
    return role == kSortRole || is_text ? value : QVariant(value.toString());
}

} // namespace bubblescope::gui
