#include "app/gui/plain/area_model.h"

#include "app/gui/language/text.h"

namespace bubblescope::gui {

void AreaModel::show(PlainTracePtr trace, AreaTable table) {
    beginResetModel();
    trace_ = std::move(trace);
    table_ = std::move(table);
    endResetModel();
}

int AreaModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(table_.names.size());
}

int AreaModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant AreaModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || !trace_) return {};
    const AreaName& name = at(index.row());
    if (role == Qt::TextAlignmentRole)
        return int(Qt::AlignVCenter | (index.column() == NameColumn ? Qt::AlignLeft : Qt::AlignRight));
    const auto text = [&] {
        const std::string_view view = trace_->trace().text(name.name);
        return QString::fromUtf8(view.data(), static_cast<qsizetype>(view.size()));
    };
    if (role == Qt::ToolTipRole && index.column() == NameColumn) return text();
    if (role != Qt::DisplayRole && role != kSortRole) return {};
    const auto time = [role](TimeNs value) -> QVariant {
        if (role == kSortRole) return QVariant::fromValue<qlonglong>(value.count());
        return exactTime(value);
    };
    switch (index.column()) {
    case NameColumn: return text();
    case CountColumn: return QVariant::fromValue<qlonglong>(name.count);
    case TotalColumn: return time(name.total);
    case SelfColumn: return time(name.self);
    case MeanColumn: return time(name.mean());
    case LongestColumn: return time(name.longest);
    default: return {};
    }
}

QVariant AreaModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole)
        return int(Qt::AlignVCenter | (section == NameColumn ? Qt::AlignLeft : Qt::AlignRight));
    if (role == Qt::ToolTipRole && section == SelfColumn) return tr("Without the slices inside");
    if (role != Qt::DisplayRole) return {};
    switch (section) {
    case NameColumn: return tr("Name");
    case CountColumn: return tr("Count");
    case TotalColumn: return tr("Total");
    case SelfColumn: return tr("Self");
    case MeanColumn: return tr("Mean");
    case LongestColumn: return tr("Longest");
    default: return {};
    }
}

} // namespace bubblescope::gui
