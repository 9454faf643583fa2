#include "app/gui/models/query_rows_model.h"

#include "app/gui/language/text.h"

#include <algorithm>
#include <limits>

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
    endResetModel();
}

std::optional<std::int64_t> QueryRowsModel::number(int row, std::string_view name) const {
    const auto found = std::ranges::find(rows_.columns(), name, &report::DataColumn::name);
    const auto at = static_cast<std::size_t>(row);
    if (found == rows_.columns().end() || found->type() != report::ColumnType::Int64 || found->null(at))
        return std::nullopt;
    return found->int64s()[at];
}

int QueryRowsModel::rowCount(const QModelIndex& parent) const {
    constexpr std::size_t kMost = std::numeric_limits<int>::max();
    return parent.isValid() ? 0 : static_cast<int>(std::min(rows_.rows(), kMost));
}

int QueryRowsModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(rows_.columns().size());
}

QVariant QueryRowsModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
    const report::DataColumn& of = column(index.column());
    const bool is_text = of.type() == report::ColumnType::Text;
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue<int>(static_cast<int>(is_text ? Qt::AlignLeft : Qt::AlignRight) |
                                        static_cast<int>(Qt::AlignVCenter));
    const bool is_shown = role == Qt::DisplayRole || (role == Qt::ToolTipRole && is_text);
    if ((!is_shown && role != kSortRole) || of.null(static_cast<std::size_t>(index.row()))) return {};
    const QVariant value = valueOf(of, static_cast<std::size_t>(index.row()));
    // Without digit grouping, so that copied text is a number.
    return role == kSortRole || is_text ? value : QVariant(value.toString());
}

QVariant QueryRowsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    return fromUtf8(column(section).name());
}

} // namespace bubblescope::gui
