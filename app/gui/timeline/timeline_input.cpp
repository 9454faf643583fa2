#include "app/gui/language/text.h"
#include "app/gui/models/item_text.h"
#include "app/gui/models/notes.h"
#include "app/gui/models/session_queries.h"
#include "app/gui/timeline/column_shares.h"
#include "app/gui/timeline/counters.h"
#include "app/gui/timeline/note_marks.h"
#include "app/gui/timeline/timeline_painter.h"
#include "app/gui/timeline/timeline_view.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QTextDocument>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr double kSnapReach = 8; ///< distance in pixels within which edges attract the pointer

QString toolTipText(const Session& session, const ItemRef& item) {
    const ItemDescription text = describe(session, item);
    QString html = QStringLiteral("<b>%1</b><table cellspacing='0'>").arg(text.title.toHtmlEscaped());
    for (const Fact& fact : text.facts) {
        if (fact.detail) continue;
        html += QStringLiteral("<tr><td>%1&nbsp;&nbsp;</td><td align='right'>%2</td></tr>")
                    .arg(fact.name.toHtmlEscaped(), fact.value.toHtmlEscaped());
    }
    html += QStringLiteral("</table>");
    if (!text.note.isEmpty()) html += QStringLiteral("<p>%1</p>").arg(text.note.toHtmlEscaped());
    return html;
}

} // namespace

void TimelineView::setHover(const ItemRef& item) {
    if (item == hover_) return;
    const QRegion changed = QRegion(outlineOf(hover_)) + outlineOf(item);
    hover_ = item;
    viewport()->update(changed); // copying the whole picture of a large window takes milliseconds
    emit hovered(item);
}

QString TimelineView::toolTipAt(const QPointF& position) const {
    if (!state_.session()) return {};
    if (const int note = noteUnder(position); note >= 0) {
        const QString text = noteSummary(*state_.session(), note_store_->notes()[static_cast<std::size_t>(note)]);
        return Qt::convertFromPlainText(text);
    }
    const QPointF place = position - plot().topLeft();
    if (const auto counter =
            counters_ ? counterAt(geometryAt(place.y()), *counters_, place.x(), place.y()) : std::nullopt;
        counter && plot().contains(position.toPoint()))
        return Qt::convertFromPlainText(QStringLiteral("%1: %2").arg(
            counter->lane->name, counterText(counter->lane->at(counter->time), counter->lane->name)));
    const ItemRef item = itemAt(position);
    if (const QString text = instantAt(position); !item && !text.isEmpty()) return Qt::convertFromPlainText(text);
    const QString shares = sharesAt(position, item);
    const QString text = item ? toolTipText(*state_.session(), item) : QString();
    return shares.isEmpty() ? text : QStringLiteral("<p>%1</p>").arg(shares.toHtmlEscaped()) + text;
}

/// Name of an instant event in a lane; empty if there is none.
QString TimelineView::instantAt(const QPointF& position) const {
    constexpr double kReach = 3; // pixels
    const auto place = rows_.rawAt(contentY(position));
    if (!place || !plot().contains(position.toPoint())) return {};
    const RawLane& lane = laneOf(*place);
    const Trace& trace = *state_.session()->run.trace;
    const TimeNs time = scale().time(position.x() - kHeaderWidth);
    const TimeNs reach = scale().perPixel(kReach);
    const TimeRange near = lane.toLaneTime({time - reach, time + reach});
    const auto when = [&](std::uint32_t instant) { return trace.instants()[instant].time; };
    const auto at = std::ranges::lower_bound(lane.instants, near.begin, {}, when);
    if (at == lane.instants.end() || when(*at) > near.end) return {};
    return fromUtf8(trace.text(trace.instants()[*at].name));
}

/// The content of the pixel column under the pointer, if it combines several ops or bubbles.
QString TimelineView::sharesAt(const QPointF& position, const ItemRef& item) const {
    constexpr double kOwnShape = 3; // device pixels, as in row_shapes.cpp
    if (!state_.session() || !plot().contains(position.toPoint())) return {};
    const int row = rows_.rowAt(contentY(position));
    if (row < 0) return {};
    const TimeScale axis = scale();
    const bool strip = rows_.isHeader(row) && rows_.row(row).folded;
    if (!strip) {
        const auto band = rows_.bandAt(contentY(position));
        if (rows_.isHeader(row) || !band || band->kind != LaneKind::Compute) return {};
        if (item) {
            const TimeRange range = state_.session()->range(item);
            if ((axis.x(range.end) - axis.x(range.begin)) * devicePixelRatioF() >= kOwnShape) return {};
        }
    }
    const double x = std::floor(position.x() - kHeaderWidth);
    const TimeRange time{axis.time(x), axis.time(x + 1)};
    const std::vector<int> lines = strip ? rows_.row(row).members : std::vector<int>{rows_.lineAt(row)};
    RoleTimes sum{};
    for (const int line : lines) {
        const RoleTimes of = sharesOf(state_.session()->lanes, static_cast<std::size_t>(line), time);
        for (std::size_t role = 0; role < kRoleCount; ++role)
            sum[role] += of[role];
    }
    const QString parts = sharesText(sum, time.length() * static_cast<std::int64_t>(lines.size()));
    return parts.isEmpty() ? QString() : tr("In this pixel, %1: %2").arg(shortTime(time.length()), parts);
}

/// Shows the next or previous step that the same replica ran.
void TimelineView::turnStep(int direction) {
    if (!state_.pipeline()) return;
    const auto& steps = state_.session()->report.selection.steps();
    const StepTimeline& now = state_.session()->step(state_.step());
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps[i].index != now.index) continue;
        const auto next = static_cast<std::ptrdiff_t>(i) + direction;
        if (next < 0 || next >= static_cast<std::ptrdiff_t>(steps.size())) return;
        const auto& timelines = steps[static_cast<std::size_t>(next)].timelines;
        const auto same = std::ranges::find_if(
            timelines, [&](std::size_t place) { return state_.session()->run.steps[place].replica == now.replica; });
        return state_.showStep(static_cast<int>(same == timelines.end() ? timelines.front() : *same));
    }
    state_.showStep(state_.step() + direction); // steps are analysed only on request
}

void TimelineView::setSelecting(bool on) {
    if (on == selecting_) return;
    selecting_ = on;
    emit selectingChanged(on);
}

bool TimelineView::onRuler(const QPointF& position) const {
    return position.y() >= kStepBandHeight && position.y() < kRulerHeight && position.x() >= kHeaderWidth;
}

int TimelineView::noteUnder(const QPointF& position) const {
    if (note_store_ == nullptr || !state_.session() || !onRuler(position)) return -1;
    return noteAt(buildNoteFlags(note_store_->notes(), scale()), position.x() - kHeaderWidth);
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !state_.session()) return;
    pressed_ = true;
    dragging_ = false;
    press_position_ = drag_position_ = event->position();
    measure_from_.reset();
    const bool selects = selecting_ || event->modifiers().testFlag(Qt::ShiftModifier);
    const bool measures = selects && plot().contains(press_position_.toPoint());
    if (measures || onRuler(press_position_)) measure_from_ = snappedTime(press_position_);
}

TimeNs TimelineView::snappedTime(const QPointF& position) const {
    const TimeNs time = scale().time(std::clamp<double>(position.x() - kHeaderWidth, 0, plot().width()));
    const int row = rows_.rowAt(contentY(position));
    return snapped(*state_.session(), row < 0 ? -1 : rows_.lineAt(row), time, scale().perPixel(kSnapReach));
}

void TimelineView::measureTo(const QPointF& position) {
    const TimeNs to = snappedTime(position);
    state_.measure({std::min(*measure_from_, to), std::max(*measure_from_, to)}, tracksBetween(position));
}

/// Tracks between the start of the drag and this position. None, which means all rows, if the drag started elsewhere.
std::vector<TrackId> TimelineView::tracksBetween(const QPointF& position) const {
    std::vector<TrackId> tracks;
    if (!rows_.rawAt(contentY(press_position_))) return tracks;
    const auto [top, bottom] = std::minmax({press_position_.y(), position.y()});
    for (const LanePlace& at : lanesInSight(geometry())) {
        const double lane_top = kRulerHeight + at.top;
        if (lane_top <= bottom && lane_top + at.height > top) tracks.push_back(at.lane.track);
    }
    std::ranges::sort(tracks);
    return tracks;
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
    if (!pressed_) {
        setHover(itemAt(event->position()));
        return;
    }
    if (!dragging_) {
        const double moved = (event->position() - press_position_).manhattanLength();
        if (moved < QApplication::startDragDistance()) return;
        dragging_ = true;
        QToolTip::hideText();
        viewport()->setCursor(measure_from_ ? Qt::SplitHCursor : Qt::ClosedHandCursor);
    }
    if (measure_from_) return measureTo(event->position());
    drag(event->position() - std::exchange(drag_position_, event->position()));
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !pressed_) return;
    pressed_ = false;
    if (dragging_) {
        dragging_ = false;
        viewport()->unsetCursor();
        state_.range().endGesture();
        if (measure_from_) emit timeRangeChosen();
        return;
    }
    if (const int note = noteUnder(event->position()); note >= 0) return note_store_->goTo(note);
    if (onRuler(event->position())) return state_.measure({});
    if (!selectStepAt(event->position()) && !foldAt(event->position())) state_.select(itemAt(event->position()));
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton) state_.zoomTo(itemAt(event->position()));
}

bool TimelineView::selectStepAt(const QPointF& position) {
    if (position.y() >= kStepBandHeight || position.x() < kHeaderWidth || !state_.pipeline()) return false;
    const TimeNs time = scale().time(position.x() - kHeaderWidth);
    // If there are several replicas, the current one.
    const int replica = state_.session()->step(std::max(0, state_.step())).replica;
    int found = -1;
    for (int step = 0; step < state_.session()->stepCount(); ++step) {
        if (!state_.session()->window(step).contains(time)) continue;
        if (found < 0 || state_.session()->step(step).replica == replica) found = step;
        if (state_.session()->step(step).replica == replica) break;
    }
    if (found >= 0) state_.showStep(found);
    return found >= 0;
}

void TimelineView::wheelEvent(QWheelEvent* event) {
    TimeView::wheelEvent(event);
    setHover(itemAt(event->position()));
}

bool TimelineView::foldAt(const QPointF& position) {
    if (position.y() < kRulerHeight) return false;
    const int row = rows_.rowAt(contentY(position));
    if (row < 0) return false;
    if (rows_.isHeader(row)) {
        if (const RawLane* lane = stackAt(position); lane != nullptr && position.x() < kHeaderWidth) {
            setFlat(lane->track, !state_.rows().flattens(lane->track));
        } else if (rows_.rawCount(row) > 0) {
            return false;
        } else {
            foldGroup(rows_.row(row).group);
        }
        return true;
    }
    const int line = rows_.lineAt(row);
    if (state_.session()->raw.of(line).empty()) return false;
    // Without a pipeline, a name above tracks extends across the row.
    const bool on_name = !state_.pipeline() && contentY(position) < rows_.rowTop(row) + rows_.rowHeight();
    if (position.x() >= kHeaderWidth && !on_name) return false;
    if (const RawLane* lane = stackAt(position)) {
        setFlat(lane->track, !state_.rows().flattens(lane->track));
        return true;
    }
    setUnfolded(line, !unfolded(line));
    return true;
}

/// Raw lane with stacks at a point; null if there is none.
const RawLane* TimelineView::stackAt(const QPointF& position) const {
    const auto place = rows_.rawAt(contentY(position));
    return place && laneOf(*place).depth > 1 ? &laneOf(*place) : nullptr;
}

const RawLane& TimelineView::laneOf(const RowLayout::RawPlace& place) const {
    return laneAt(*state_.session(), rows_, place.row, place.lane);
}

namespace {

constexpr double kReferenceStep = 0.1; ///< step of the blend between observed and reference
constexpr double kRangePadding = 0.02; ///< fraction added around a selected time range

} // namespace

void TimelineView::keyPressEvent(QKeyEvent* event) {
    const CommandInfo* info = findCommand(*event);
    if (info == nullptr) {
        TimeView::keyPressEvent(event);
        return;
    }
    run(info->command);
}

void TimelineView::run(Command command) {
    if (!state_.session() || runInTime(command)) return;
    const Session& session = *state_.session();
    const ItemRef selection = state_.selection();
    switch (command) {
    case Command::ZoomIn:
    case Command::ZoomOut:
    case Command::PanLeft:
    case Command::PanRight:
    case Command::FitAll: break; // handled above
    case Command::FitStep:
        if (state_.pipeline())
            state_.showStep(state_.step());
        else
            state_.range().showAll();
        break;
    case Command::Focus: focusSelection(); break;
    case Command::ZoomToSelection:
        if (state_.measured().length() > TimeNs{0}) {
            state_.range().show(padded(state_.measured(), kRangePadding));
        } else {
            state_.zoomTo(selection);
        }
        break;
    case Command::Undo: state_.undo(); break;
    case Command::Redo: state_.redo(); break;
    case Command::NextOp:
        moveTo(selection ? neighbourOp(session, selection, 1)
                         : opNear(session, std::max(0, focusedLine()), session.originOf(state_.step())));
        break;
    case Command::PreviousOp: moveTo(neighbourOp(session, selection, -1)); break;
    case Command::Consumer: moveTo(consumer(session, selection)); break;
    case Command::Producer: moveTo(producer(session, selection)); break;
    case Command::RankUp: changeRank(-1); break;
    case Command::RankDown: changeRank(1); break;
    case Command::NextStep: turnStep(1); break;
    case Command::PreviousStep: turnStep(-1); break;
    case Command::Unfold: unfold(false); break;
    case Command::UnfoldAll: unfold(true); break;
    case Command::Counters: showCounters(!showsCounters()); break;
    case Command::HigherRows: setRowHeight(rows_.otherHeight(1)); break;
    case Command::LowerRows: setRowHeight(rows_.otherHeight(-1)); break;
    case Command::FitRows: setRowHeight(0); break;
    case Command::Pin: pin(focusedLine()); break;
    case Command::MoveUp: moveRow(focusedLine(), -1); break;
    case Command::MoveDown: moveRow(focusedLine(), 1); break;
    case Command::Filter: emit filterRequested(); break;
    case Command::FoldGroup: foldFocusedGroup(); break;
    case Command::AllRows: showAllRows(); break;
    case Command::Ideal:
        if (state_.pipeline()) emit idealRequested();
        break;
    case Command::ReferenceNearer: moveReference(-kReferenceStep); break;
    case Command::ReferenceFurther: moveReference(kReferenceStep); break;
    case Command::Transfers: toggle(FlowOverlay::Transfers); break;
    case Command::CriticalPath: toggle(FlowOverlay::CriticalPath); break;
    case Command::Microbatch: toggle(FlowOverlay::Microbatch); break;
    case Command::AddNote:
        if (note_store_ != nullptr) note_store_->addHere();
        break;
    case Command::NextNote:
        if (note_store_ != nullptr) note_store_->goToNext(1);
        break;
    case Command::PreviousNote:
        if (note_store_ != nullptr) note_store_->goToNext(-1);
        break;
    case Command::Search: emit searchRequested(); break;
    case Command::NextHit: emit hitRequested(1); break;
    case Command::PreviousHit: emit hitRequested(-1); break;
    case Command::Clear:
        state_.select({});
        state_.highlight({});
        state_.mark({});
        state_.measure({});
        break;
    }
}

void TimelineView::moveReference(double by) {
    if (!state_.reference()) return;
    // Rounded to whole steps, so that moving it back and forth ends at the same value.
    state_.setReferenceBlend(std::round((state_.referenceBlend() + by) / kReferenceStep) * kReferenceStep);
}

void TimelineView::focusSelection() {
    const ItemRef item = state_.selection();
    if (!item) return;
    const TimeRange range = state_.session()->range(item);
    const TimeRange now = state_.range().range();
    const TimeNs begin = range.begin + range.length() / 2 - now.length() / 2;
    state_.range().show({begin, begin + now.length()});
    emit state_.rankRequested(item.rank);
    // If the item is already centred as far as the limits of the trace allow, pressing the key again zooms to it.
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
    if (!state_.session()) return;
    const int line = state_.session()->lanes.lineOf(state_.step(), rank);
    showLine(line);
    const ItemRef item = state_.selection();
    if (item.kind == ItemKind::Slice && state_.session()->lanes.lineOf(item) == line) showSlice(item);
}

/// Unfolds the groups that hide a slice, and scrolls to its row.
void TimelineView::showSlice(const ItemRef& item) {
    const Session& session = *state_.session();
    const int line = session.lanes.lineOf(item);
    if (!unfolded(line)) setUnfolded(line, true);
    const int row = rows_.rowOf(line);
    const TrackId track = session.run.trace->sliceTracks()[session.slice(item)];
    for (int lane = 0; lane < rows_.rawCount(row); ++lane) {
        if (laneAt(session, rows_, row, lane).track != track) continue;
        const int depth = rows_.rawRows(row, lane) > 1 ? session.raw.depthOf(track, session.slice(item)) : 0;
        const int top = rows_.rawTop(row, lane, depth);
        if (top >= rows_.stickyHeight()) scrollTo(top, top + RowLayout::kRawHeight);
    }
}

/// Scrolls by the smallest distance that makes a part of the rows visible.
void TimelineView::scrollTo(int top, int bottom) {
    const int sticky = rows_.stickyHeight();
    const int height = plot().height() - captionRoom();
    QScrollBar* bar = verticalScrollBar();
    if (top - sticky < bar->value()) bar->setValue(top - sticky);
    if (bottom > bar->value() + height) bar->setValue(bottom - height);
}

void TimelineView::showLine(int line) {
    const int row = rows_.rowOf(line);
    const int sticky = rows_.stickyHeight();
    if (row < 0 || rows_.rowTop(row) < sticky) return;
    const int height = plot().height() - captionRoom();
    scrollTo(rows_.rowTop(row), rows_.rowTop(row) + std::min(rows_.heightOf(row), height - sticky));
}

void TimelineView::unfold(bool all) {
    const Session& session = *state_.session();
    if (!all) {
        const int line = focusedLine();
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

/// The line of the selection, or the topmost visible one; −1 if there is none.
int TimelineView::focusedLine() const {
    if (const ItemRef& item = state_.selection()) {
        const int line = state_.session()->lanes.lineOf(item);
        if (rows_.rowOf(line) >= 0) return line;
    }
    for (const int row : rowsInSight()) {
        if (!rows_.isHeader(row)) return rows_.lineAt(row);
    }
    return -1;
}

} // namespace bubblescope::gui
