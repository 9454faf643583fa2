#include "app/gui/models/navigation.h"
#include "app/gui/models/notebook.h"
#include "app/gui/timeline/timeline_painter.h"
#include "app/gui/timeline/timeline_view.h"

#include <QCursor>
#include <QKeyEvent>
#include <QScrollBar>

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr double kKeyZoom = 0.8;   ///< per key press
constexpr double kKeyPan = 0.1;    ///< of the view
constexpr double kGhostStep = 0.1; ///< of the way between observed and ideal

} // namespace

void TimelineView::keyPressEvent(QKeyEvent* event) {
    const CommandInfo* info = findCommand(*event);
    if (info == nullptr) {
        QAbstractScrollArea::keyPressEvent(event);
        return;
    }
    run(info->command);
}

void TimelineView::run(Command command) {
    if (!state_.session()) return;
    const Session& session = *state_.session();
    const ItemRef selection = state_.selection();
    switch (command) {
    case Command::ZoomIn: zoom(kKeyZoom); break;
    case Command::ZoomOut: zoom(1 / kKeyZoom); break;
    case Command::PanLeft: pan(-kKeyPan); break;
    case Command::PanRight: pan(kKeyPan); break;
    case Command::FitAll: state_.range().showAll(); break;
    case Command::FitStep: state_.showStep(state_.step()); break;
    case Command::Focus: focusSelection(); break;
    case Command::ZoomToSelection: state_.zoomTo(selection); break;
    case Command::Undo: state_.undo(); break;
    case Command::NextOp:
        moveTo(selection ? neighbourOp(session, selection, 1)
                         : opNear(session, std::max(0, lineInHand()), session.window(state_.step()).begin));
        break;
    case Command::PreviousOp: moveTo(neighbourOp(session, selection, -1)); break;
    case Command::Consumer: moveTo(consumer(session, selection)); break;
    case Command::Producer: moveTo(producer(session, selection)); break;
    case Command::RankUp: changeRank(-1); break;
    case Command::RankDown: changeRank(1); break;
    case Command::NextStep: state_.showStep(state_.step() + 1); break;
    case Command::PreviousStep: state_.showStep(state_.step() - 1); break;
    case Command::Unfold: unfold(false); break;
    case Command::UnfoldAll: unfold(true); break;
    case Command::Counters: showCounters(!showsCounters()); break;
    case Command::HigherRows: setRowHeight(rows_.otherHeight(1)); break;
    case Command::LowerRows: setRowHeight(rows_.otherHeight(-1)); break;
    case Command::FitRows: setRowHeight(0); break;
    case Command::Pin: pin(lineInHand()); break;
    case Command::MoveUp: moveRow(lineInHand(), -1); break;
    case Command::MoveDown: moveRow(lineInHand(), 1); break;
    case Command::Filter: emit filterRequested(); break;
    case Command::FoldGroup: foldGroupInHand(); break;
    case Command::AllRows: showAllRows(); break;
    case Command::Ideal: emit idealRequested(); break;
    case Command::GhostNearer: moveGhost(-kGhostStep); break;
    case Command::GhostFurther: moveGhost(kGhostStep); break;
    case Command::Transfers: toggle(Trail::Transfers); break;
    case Command::CriticalPath: toggle(Trail::CriticalPath); break;
    case Command::Microbatch: toggle(Trail::Microbatch); break;
    case Command::AddNote:
        if (notebook_ != nullptr) notebook_->addHere();
        break;
    case Command::NextNote:
        if (notebook_ != nullptr) notebook_->goToNext(1);
        break;
    case Command::PreviousNote:
        if (notebook_ != nullptr) notebook_->goToNext(-1);
        break;
    case Command::Search: emit searchRequested(); break;
    case Command::Clear:
        state_.select({});
        state_.highlight({}, {});
        state_.measure({});
        break;
    }
}

void TimelineView::zoom(double factor) {
    const QPointF cursor = viewport()->mapFromGlobal(QCursor::pos());
    const bool inside = viewport()->underMouse() && plot().contains(cursor.toPoint());
    state_.range().zoomAt(inside ? (cursor.x() - kHeaderWidth) / plot().width() : 0.5, factor);
    gesture_end_.start();
}

void TimelineView::pan(double share) {
    state_.range().panBy(share);
    gesture_end_.start();
}

void TimelineView::moveGhost(double by) {
    if (!state_.ghost()) return;
    // In whole steps, so that there and back again is where it began.
    state_.setGhostShare(std::round((state_.ghostShare() + by) / kGhostStep) * kGhostStep);
}

void TimelineView::focusSelection() {
    const ItemRef item = state_.selection();
    if (!item) return;
    const TimeRange range = state_.session()->range(item);
    const TimeRange now = state_.range().range();
    const TimeNs begin = range.begin + range.length() / 2 - now.length() / 2;
    state_.range().show({begin, begin + now.length()});
    emit state_.rankRequested(item.rank);
    // Already in the middle, or as close to it as the trace's ends allow: the second press fits.
    if (state_.range().range() == now) state_.zoomTo(item);
}

void TimelineView::moveTo(const ItemRef& item) {
    if (!item) return;
    state_.select(item);
    state_.reveal(item);
}

void TimelineView::changeRank(int direction) {
    const ItemRef from = state_.selection();
    if (!from) {
        verticalScrollBar()->setValue(verticalScrollBar()->value() + direction * rows_.rowHeight());
        return;
    }
    int row = rows_.rowOf(state_.session()->lanes.lineOf(from));
    if (row < 0) return;
    do {
        row += direction;
    } while (row >= 0 && row < rows_.rowCount() && rows_.isHeader(row));
    if (row < 0 || row >= rows_.rowCount()) return;
    const TimeRange range = state_.session()->range(from);
    moveTo(opNear(*state_.session(), rows_.lineAt(row), range.begin + range.length() / 2));
}

void TimelineView::showRank(int rank) {
    if (state_.session()) showLine(state_.session()->lanes.lineOf(state_.step(), rank));
}

void TimelineView::showLine(int line) {
    const int row = rows_.rowOf(line);
    const int sticky = rows_.stickyHeight();
    if (row < 0 || rows_.rowTop(row) < sticky) return;
    const int top = rows_.rowTop(row) - sticky;
    const int height = plot().height() - captionRoom();
    const int bottom = rows_.rowTop(row) + std::min(rows_.heightOf(row), height - sticky);
    QScrollBar* bar = verticalScrollBar();
    if (top < bar->value()) bar->setValue(top);
    if (bottom > bar->value() + height) bar->setValue(bottom - height);
}

void TimelineView::unfold(bool all) {
    const Session& session = *state_.session();
    if (!all) {
        const int line = lineInHand();
        return setUnfolded(line, !unfolded(line));
    }
    RowChoice rows = state_.rows();
    const bool open = rows.unfolded.empty();
    rows.unfolded.clear();
    for (int line = 0; open && line < static_cast<int>(session.lanes.lineCount()); ++line) {
        if (!session.raw.of(line).empty()) rows.unfolded.push_back(line);
    }
    state_.setRows(std::move(rows));
}

/// That of the selection, else the topmost in sight; −1 where no line is.
int TimelineView::lineInHand() const {
    if (const ItemRef& item = state_.selection()) {
        const int line = state_.session()->lanes.lineOf(item);
        if (rows_.rowOf(line) >= 0) return line;
    }
    for (const int row : rowsInSight()) {
        if (!rows_.isHeader(row)) return rows_.lineAt(row);
    }
    return -1;
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

/// That of the line in hand, or where all are folded, of the topmost header.
void TimelineView::foldGroupInHand() {
    if (!state_.rows().group) return;
    const int row = rows_.rowOf(lineInHand());
    if (row >= 0) return foldGroup(rows_.row(row).group);
    const auto header = std::ranges::find_if(rows_.plan(), [](const PlannedRow& one) { return one.header(); });
    if (header != rows_.plan().end()) foldGroup(header->group);
}

/// What is unfolded, hidden and how high rows are stays.
void TimelineView::showAllRows() {
    RowChoice rows = state_.rows();
    const RowChoice none;
    rows.pinned = none.pinned;
    rows.filter = none.filter;
    rows.order = none.order;
    rows.by_hand = none.by_hand;
    rows.group = none.group;
    rows.folded = none.folded;
    state_.setRows(std::move(rows));
}

} // namespace bubblescope::gui
