#include "app/gui/models/column_model.h"

#include "app/gui/language/text.h"

#include <algorithm>
#include <limits>

namespace bubblescope::gui {

namespace {

int alignment(bool number) {
    return static_cast<int>(number ? Qt::AlignRight : Qt::AlignLeft) | static_cast<int>(Qt::AlignVCenter);
}

} // namespace

int ColumnModel::rowCount(const QModelIndex& parent) const {
    constexpr std::size_t kMost = std::numeric_limits<int>::max();
    return parent.isValid() ? 0 : static_cast<int>(std::min(rows(), kMost));
}

int ColumnModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(alignments().size());
}

const std::vector<int>& ColumnModel::alignments() const {
    if (alignments_.empty()) {
        for (const Column& column : columns())
            alignments_.push_back(alignment(column.number));
    }
    return alignments_;
}

QVariant ColumnModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
    if (role == Qt::TextAlignmentRole) return alignments()[static_cast<std::size_t>(index.column())];
    return cell(static_cast<std::size_t>(index.row()), index.column(), role);
}

QVariant ColumnModel::headerData(int section, Qt::Orientation orientation, int role) const {
    const std::vector<Column> all = columns();
    if (orientation != Qt::Horizontal || section < 0 || section >= static_cast<int>(all.size())) return {};
    const Column& column = all[static_cast<std::size_t>(section)];
    switch (role) {
    case Qt::DisplayRole: return column.title;
    case Qt::ToolTipRole: return column.tip.isEmpty() ? QVariant() : column.tip;
    case Qt::TextAlignmentRole: return alignments()[static_cast<std::size_t>(section)];
    default: return {};
    }
}

QVariant ColumnModel::timeCell(TimeNs time, int role) {
    return role == kSortRole ? QVariant(static_cast<qlonglong>(time.count())) : QVariant(shortTime(time));
}

void ColumnModel::touchRows(int first) {
    const int count = rowCount();
    if (first < count) emit dataChanged(index(first, 0), index(count - 1, columnCount() - 1));
}

} // namespace bubblescope::gui
