#include "app/gui/timeline/timeline_painter.h"
#include "app/gui/timeline/timeline_view.h"

#include <QContextMenuEvent>
#include <QMenu>

#include <algorithm>
#include <utility>

// The part of TimelineView in which users choose rows: their menu, pins, order and folds.

namespace bubblescope::gui {

/// Shows a track's stacks in one row, or each depth in a separate row.
void TimelineView::setFlat(TrackId track, bool flat) {
    RowChoice rows = state_.rows();
    rows.setFlat(track, flat);
    state_.setRows(std::move(rows));
}

void TimelineView::pinTrack(TrackId track, bool on) {
    RowChoice rows = state_.rows();
    rows.setTrackPinned(track, on);
    state_.setRows(std::move(rows));
}

void TimelineView::addTrackEntries(QMenu& menu, const RawLane& lane) {
    const TrackId track = lane.track;
    const bool pinned = state_.rows().pinsTrack(track);
    menu.addAction(pinned ? tr("Unpin this track") : tr("Pin this track to the top"), this,
                   [this, track, pinned] { pinTrack(track, !pinned); })
        ->setObjectName(QStringLiteral("pinTrack"));
    if (lane.depth > 1) {
        const bool flat = state_.rows().flattens(track);
        menu.addAction(flat ? tr("Unfold its stacks") : tr("Fold its stacks into one row"), this,
                       [this, track, flat] { setFlat(track, !flat); });
    }
    menu.addSeparator();
}

/// The menu for the item under the pointer, or for the row whose name is there. The menu key opens the menu of the
/// selection.
void TimelineView::contextMenuEvent(QContextMenuEvent* event) {
    const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
    if (const ItemRef item = by_key ? state_.selection() : itemAt(event->pos()); item) {
        state_.select(item);
        const QPoint where = by_key ? viewport()->mapToGlobal(centreOf(item).toPoint()) : event->globalPos();
        return emit menuRequested(item, where);
    }
    const int row = state_.session() && event->y() >= kRulerHeight && event->x() < kHeaderWidth
                        ? rows_.rowAt(contentY(event->pos()))
                        : -1;
    if (row < 0) return TimeView::contextMenuEvent(event);
    auto* menu = new QMenu(this);
    menu->setObjectName(QStringLiteral("rowMenu"));
    menu->setAttribute(Qt::WA_DeleteOnClose);
    if (const auto lane = rows_.rawAt(contentY(event->pos()))) addTrackEntries(*menu, laneOf(*lane));
    if (rows_.row(row).tracks_of >= 0) {
        // Pinned tracks of a header are unpinned individually.
    } else if (rows_.isHeader(row)) {
        menu->addAction(rows_.row(row).folded ? tr("Unfold the group") : tr("Fold the group"), this,
                        [this, group = rows_.row(row).group] { foldGroup(group); });
    } else {
        const int line = rows_.lineAt(row);
        menu->addAction(rows_.row(row).pinned ? tr("Unpin") : tr("Pin to the top"), this, [this, line] { pin(line); });
        menu->addAction(tr("Move up"), this, [this, line] { moveRow(line, -1); });
        menu->addAction(tr("Move down"), this, [this, line] { moveRow(line, 1); });
        if (!state_.session()->raw.of(line).empty())
            menu->addAction(unfolded(line) ? tr("Fold threads and streams") : tr("Unfold threads and streams"), this,
                            [this, line] { setUnfolded(line, !unfolded(line)); });
    }
    menu->addSeparator();
    menu->addAction(tr("Filter ranks…"), this, &TimelineView::filterRequested);
    menu->addAction(tr("Show all ranks again, in their original order"), this, [this] { run(Command::AllRows); });
    menu->popup(event->globalPos());
}

void TimelineView::pin(int line) {
    if (line < 0) return;
    RowChoice rows = state_.rows();
    rows.setPinned(line, !rows.pins(line));
    state_.setRows(std::move(rows));
}

void TimelineView::moveRow(int line, int direction) {
    state_.setRows(movedRow(facts_, state_.rows(), line, direction));
    showLine(line);
}

void TimelineView::foldGroup(int group) {
    RowChoice rows = state_.rows();
    if (!rows.group || group < 0) return;
    rows.setFolded(group, std::ranges::find(rows.folded, group) == rows.folded.end());
    state_.setRows(std::move(rows));
}

/// Folds the group of the focused line, or of the topmost header if all groups are folded.
void TimelineView::foldFocusedGroup() {
    if (!state_.rows().group) return;
    const int row = rows_.rowOf(focusedLine());
    if (row >= 0) return foldGroup(rows_.row(row).group);
    const auto header =
        std::ranges::find_if(rows_.plan(), [](const PlannedRow& one) { return one.header() && one.tracks_of < 0; });
    if (header != rows_.plan().end()) foldGroup(header->group);
}

/// Removes the filter and unfolds all groups. Does not change unfolded lines, hidden lanes and the height of rows.
void TimelineView::showAllRows() {
    RowChoice rows = state_.rows();
    const RowChoice none;
    rows.pinned = none.pinned;
    rows.pinned_tracks = none.pinned_tracks;
    rows.filter = none.filter;
    rows.order = none.order;
    rows.by_hand = none.by_hand;
    rows.group = none.group;
    rows.folded = none.folded;
    state_.setRows(std::move(rows));
}

} // namespace bubblescope::gui
