#include "app/gui/models/item_text.h"
#include "app/gui/models/notebook.h"
#include "app/gui/models/notes_model.h"
#include "app/gui/models/range_stats.h"
#include "app/gui/timeline/counter_geometry.h"
#include "app/gui/timeline/note_flags.h"
#include "app/gui/timeline/timeline_painter.h"
#include "app/gui/timeline/timeline_view.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QScrollBar>
#include <QTextDocument>
#include <QToolTip>

#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr double kWheelZoom = 0.85; ///< per notch
constexpr double kWheelPan = 0.1;   ///< of the view, per notch
constexpr double kWheelNotch = 120; ///< Qt's eighths of a degree
constexpr double kSnapReach = 8;    ///< pixels within which an edge is meant

QString toolTipText(const Session& session, const ItemRef& item) {
    const ItemDescription text = describe(session, item);
    QString html = QStringLiteral("<b>%1</b><table cellspacing='0'>").arg(text.title.toHtmlEscaped());
    for (const Fact& fact : text.facts)
        html += QStringLiteral("<tr><td>%1&nbsp;&nbsp;</td><td align='right'>%2</td></tr>")
                    .arg(fact.name.toHtmlEscaped(), fact.value.toHtmlEscaped());
    html += QStringLiteral("</table>");
    if (!text.note.isEmpty()) html += QStringLiteral("<p>%1</p>").arg(text.note.toHtmlEscaped());
    return html;
}

} // namespace

void TimelineView::setHover(const ItemRef& item) {
    if (item == hover_) return;
    hover_ = item;
    viewport()->update();
    emit hovered(item);
}

bool TimelineView::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::Leave) setHover({});
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const QString text = toolTipAt(help->pos());
        if (text.isEmpty()) {
            QToolTip::hideText();
        } else {
            QToolTip::showText(help->globalPos(), text, viewport());
        }
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

QString TimelineView::toolTipAt(const QPointF& position) const {
    if (!state_.session()) return {};
    if (const int note = noteUnder(position); note >= 0) {
        const QString text = noteSummary(*state_.session(), notebook_->notes()[static_cast<std::size_t>(note)]);
        return Qt::convertFromPlainText(text);
    }
    const QPointF place = position - plot().topLeft();
    if (const auto counter =
            counters_ ? counterAt(geometryAt(place.y()), *counters_, place.x(), place.y()) : std::nullopt;
        counter && plot().contains(position.toPoint()))
        return Qt::convertFromPlainText(
            QStringLiteral("%1: %2").arg(counter->lane->name, counterText(counter->lane->at(counter->time))));
    const ItemRef item = itemAt(position);
    return item ? toolTipText(*state_.session(), item) : QString();
}

int TimelineView::noteUnder(const QPointF& position) const {
    const bool ruler = position.y() >= kStepBandHeight && position.y() < kRulerHeight && position.x() >= kHeaderWidth;
    if (notebook_ == nullptr || !state_.session() || !ruler) return -1;
    return noteAt(buildNoteFlags(notebook_->notes(), scale()), position.x() - kHeaderWidth);
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !state_.session()) return;
    pressed_ = true;
    dragging_ = false;
    press_position_ = drag_position_ = event->position();
    measure_from_.reset();
    if (!event->modifiers().testFlag(Qt::ShiftModifier) || !plot().contains(press_position_.toPoint())) return;
    measure_from_ = snappedTime(press_position_);
}

TimeNs TimelineView::snappedTime(const QPointF& position) const {
    const TimeNs time = scale().time(std::clamp<double>(position.x() - kHeaderWidth, 0, plot().width()));
    const int row = rows_.rowAt(contentY(position));
    return snapped(*state_.session(), row < 0 ? -1 : rows_.lineAt(row), time, scale().perPixel(kSnapReach));
}

void TimelineView::measureTo(const QPointF& position) {
    const TimeNs to = snappedTime(position);
    state_.measure({std::min(*measure_from_, to), std::max(*measure_from_, to)});
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
    const QPointF delta = event->position() - drag_position_;
    drag_position_ = event->position();
    state_.range().panBy(-delta.x() / plot().width());
    verticalScrollBar()->setValue(verticalScrollBar()->value() - static_cast<int>(std::lround(delta.y())));
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !pressed_) return;
    pressed_ = false;
    if (dragging_) {
        dragging_ = false;
        viewport()->unsetCursor();
        state_.range().endGesture();
        return;
    }
    if (const int note = noteUnder(event->position()); note >= 0) return notebook_->goTo(note);
    if (!selectStepAt(event->position()) && !foldAt(event->position())) state_.select(itemAt(event->position()));
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton) state_.zoomTo(itemAt(event->position()));
}

bool TimelineView::selectStepAt(const QPointF& position) {
    if (position.y() >= kStepBandHeight || position.x() < kHeaderWidth) return false;
    const TimeNs time = scale().time(position.x() - kHeaderWidth);
    for (int step = 0; step < state_.session()->stepCount(); ++step) {
        if (!state_.session()->window(step).contains(time)) continue;
        state_.showStep(step);
        return true;
    }
    return false;
}

void TimelineView::wheelEvent(QWheelEvent* event) {
    event->accept();
    const QPoint angle = event->angleDelta();
    const double x = event->position().x() - kHeaderWidth;
    const bool sideways = event->modifiers().testFlag(Qt::ShiftModifier) || std::abs(angle.x()) > std::abs(angle.y());
    if (x < 0 && event->modifiers().testFlag(Qt::ControlModifier)) {
        if (angle.y() != 0) setRowHeight(rows_.otherHeight(angle.y() > 0 ? 1 : -1));
    } else if (sideways) {
        const int delta = angle.x() != 0 ? angle.x() : angle.y();
        state_.range().panBy(-delta / kWheelNotch * kWheelPan);
    } else if (x < 0) {
        // Over the rank names the wheel scrolls ranks, as there is no time to zoom at.
        const auto lines = static_cast<int>(std::lround(angle.y() / kWheelNotch * verticalScrollBar()->singleStep()));
        verticalScrollBar()->setValue(verticalScrollBar()->value() - lines);
    } else {
        state_.range().zoomAt(x / plot().width(), std::pow(kWheelZoom, angle.y() / kWheelNotch));
    }
    gesture_end_.start();
    setHover(itemAt(event->position()));
}

bool TimelineView::foldAt(const QPointF& position) {
    if (position.y() < kRulerHeight) return false;
    const int row = rows_.rowAt(contentY(position));
    if (row < 0) return false;
    if (rows_.isHeader(row)) {
        foldGroup(rows_.row(row).group);
        return true;
    }
    const int line = rows_.lineAt(row);
    if (position.x() >= kHeaderWidth || state_.session()->raw.of(line).empty()) return false;
    setUnfolded(line, !unfolded(line));
    return true;
}

/// What can be done with the row whose name is pointed at.
void TimelineView::contextMenuEvent(QContextMenuEvent* event) {
    const int row = state_.session() && event->y() >= kRulerHeight && event->x() < kHeaderWidth
                        ? rows_.rowAt(contentY(event->pos()))
                        : -1;
    if (row < 0) return QAbstractScrollArea::contextMenuEvent(event);
    auto* menu = new QMenu(this);
    menu->setObjectName(QStringLiteral("rowMenu"));
    menu->setAttribute(Qt::WA_DeleteOnClose);
    if (rows_.isHeader(row)) {
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
    menu->addAction(tr("All ranks again, in their order"), this, [this] { run(Command::AllRows); });
    menu->popup(event->globalPos());
}

} // namespace bubblescope::gui
