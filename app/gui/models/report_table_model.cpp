#include "app/gui/models/report_table_model.h"

#include "app/gui/language/text.h"

#include <QFont>

#include <type_traits>

namespace bubblescope::gui {
namespace {

/// Integers are not converted to text, so that views format them.
QVariant shownValue(const report::Cell& cell) {
    if (cell.worded || cell.look != report::Look::Plain) return fromUtf8(cell.text());
    return cell.value.visit([&cell](const auto& value) -> QVariant {
        using Kind = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Kind, Sentence>)
            return translated(value);
        else if constexpr (std::is_same_v<Kind, std::int64_t>)
            return QVariant::fromValue<qlonglong>(value);
        else
            return fromUtf8(cell.text());
    });
}

} // namespace

void ReportTableModel::show(report::Table table) {
    beginResetModel();
    table_ = std::move(table);
    shown_.clear();
    for (std::size_t c = 0; c < table_.columns.size(); ++c) {
        if (!table_.columns[c].hidden) shown_.push_back(c);
    }
    forgetColumns();
    endResetModel();
}

std::vector<ColumnModel::Column> ReportTableModel::columns() const {
    std::vector<Column> out;
    for (const std::size_t column : shown_)
        out.push_back({translated(table_.columns[column].title), table_.columns[column].align != report::Align::Left});
    return out;
}

QVariant ReportTableModel::cell(std::size_t row, int column, int role) const {
    const report::Cell& cell = table_.rows[row][shown_[static_cast<std::size_t>(column)]];
    if (role == Qt::DisplayRole || role == Qt::ToolTipRole) return shownValue(cell);
    if (role != Qt::FontRole || !cell.marked) return {};
    QFont bold;
    bold.setBold(true);
    return bold;
}

} // namespace bubblescope::gui
