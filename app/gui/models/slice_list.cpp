#include "app/gui/models/slice_list.h"

#include "app/gui/language/text.h"
#include "app/gui/models/rows.h"

namespace bubblescope::gui {

void SliceListModel::show(SessionPtr session, std::vector<SliceId> slices) {
    beginResetModel();
    session_ = std::move(session);
    slices_ = std::move(slices);
    endResetModel();
}

int SliceListModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(slices_.size());
}

int SliceListModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant SliceListModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue<int>(
            static_cast<int>(index.column() == WhereColumn ? Qt::AlignLeft : Qt::AlignRight) |
            static_cast<int>(Qt::AlignVCenter));
    if (role != Qt::DisplayRole && role != kSortRole) return {};
    const Trace& trace = *session_->run.trace;
    const SliceId slice = at(index.row());
    const auto time = [role](TimeNs value) {
        return role == kSortRole ? QVariant(static_cast<qlonglong>(value.count())) : QVariant(shortTime(value));
    };
    switch (index.column()) {
    case StartColumn: return time(trace.start(slice));
    case DurationColumn: return time(trace.end(slice) - trace.start(slice));
    default: break;
    }
    const TrackId track = trace.sliceTracks()[slice];
    const int line = session_->raw.lineOf(track);
    return QStringLiteral("%1 · %2").arg(lineName(*session_, line), session_->raw.laneOf(line, track)->name());
}

QVariant SliceListModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    switch (section) {
    case StartColumn: return tr("Start");
    case DurationColumn: return tr("Duration");
    case WhereColumn: return tr("Where");
    default: return {};
    }
}

} // namespace bubblescope::gui
