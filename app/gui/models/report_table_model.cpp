#include "app/gui/models/report_table_model.h"

#include "app/gui/language/text.h"

#include <QFont>

#include <type_traits>

namespace bubblescope::gui {
namespace {

/// Integers stay numbers, so that views format them.
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
    endResetModel();
}

int ReportTableModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(table_.rows.size());
}

int ReportTableModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(shown_.size());
}

QVariant ReportTableModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
    const std::size_t column = shown_[static_cast<std::size_t>(index.column())];
    const report::Cell& cell = table_.rows[static_cast<std::size_t>(index.row())][column];
    switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole: return shownValue(cell);
    case Qt::TextAlignmentRole: {
        const bool left = table_.columns[column].align == report::Align::Left;
        return QVariant::fromValue<int>((left ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    }
    case Qt::FontRole: {
        if (!cell.marked) return {};
        QFont bold;
        bold.setBold(true);
        return bold;
    }
    default: return {};
    }
}

QVariant ReportTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    return translated(table_.columns[shown_[static_cast<std::size_t>(section)]].title);
}

} // namespace bubblescope::gui
