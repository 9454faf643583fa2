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

std::vector<ColumnModel::Column> SliceListModel::columns() const {
    return {{tr("Start"), true}, {tr("Duration"), true}, {tr("Where")}};
}

QVariant SliceListModel::cell(std::size_t row, int column, int role) const {
    if (role != Qt::DisplayRole && role != kSortRole) return {};
    const Trace& trace = *session_->run.trace;
    const SliceId slice = slices_[row];
    if (column == StartColumn) return timeCell(trace.start(slice), role);
    if (column == DurationColumn) return timeCell(trace.end(slice) - trace.start(slice), role);
    const TrackId track = trace.sliceTracks()[slice];
    const int line = session_->raw.lineOf(track);
    return QStringLiteral("%1 · %2").arg(lineName(*session_, line), session_->raw.laneOf(line, track)->name());
}

} // namespace bubblescope::gui
