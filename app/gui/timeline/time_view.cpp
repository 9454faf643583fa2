#include "app/gui/timeline/time_view.h"

#include <QApplication>
#include <QCursor>
#include <QEvent>
#include <QFontMetricsF>
#include <QHelpEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr double kWheelZoom = 0.85;  ///< per notch
constexpr double kWheelPan = 0.1;    ///< fraction of the view per notch
constexpr double kWheelNotch = 120;  ///< Qt's eighths of a degree
constexpr double kKeyZoom = 0.8;     ///< per key press
constexpr double kKeyPan = 0.1;      ///< fraction of the view
constexpr int kFocusFrame = 2;       ///< pixels
constexpr int kGesturePauseMs = 600; ///< wheel events closer than this form one entry in the zoom history

} // namespace

TimeView::TimeView(ThemeManager& themes, int names, int ruler, QWidget* parent)
    : QAbstractScrollArea(parent), themes_(themes), names_(names), ruler_(ruler) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
    viewport()->setMouseTracking(true);
    gesture_end_.setSingleShot(true);
    gesture_end_.setInterval(kGesturePauseMs);
    connect(qApp, &QApplication::focusChanged, viewport(), qOverload<>(&QWidget::update)); // it has a focus frame
    connect(&themes_, &ThemeManager::changed, this, &TimeView::invalidate);
}

void TimeView::setRange(VisibleRange& range) {
    range_ = &range;
    connect(range_, &VisibleRange::changed, this, &TimeView::invalidateTime);
    connect(&gesture_end_, &QTimer::timeout, range_, &VisibleRange::endGesture);
}

QRect TimeView::plot() const {
    return {names_, ruler_, std::max(1, viewport()->width() - names_), std::max(1, viewport()->height() - ruler_)};
}

TimeScale TimeView::scale() const {
    return {range_->range(), static_cast<double>(plot().width())};
}

QSizeF TimeView::textSize(const QString& text) const {
    const auto known = text_sizes_.constFind(text);
    if (known != text_sizes_.constEnd()) return *known;
    // Panning through a long trace always shows new durations; the cache contains the durations of many screens.
    constexpr qsizetype kMaxCached = 20000;
    if (text_sizes_.size() > kMaxCached) text_sizes_.clear();
    return *text_sizes_.insert(text, QFontMetricsF(labelFont()).size(0, text));
}

void TimeView::invalidate() {
    ++names_version_;
    invalidateTime();
}

void TimeView::invalidateTime() {
    ++version_;
    viewport()->update();
}

void TimeView::zoom(double factor) {
    const QPointF cursor = viewport()->mapFromGlobal(QCursor::pos());
    const bool inside = viewport()->underMouse() && plot().contains(cursor.toPoint());
    range_->zoomAt(inside ? (cursor.x() - names_) / plot().width() : 0.5, factor);
    endGestureSoon();
}

void TimeView::drag(const QPointF& by) {
    range_->panBy(-by.x() / plot().width());
    verticalScrollBar()->setValue(verticalScrollBar()->value() - static_cast<int>(std::lround(by.y())));
}

bool TimeView::runInTime(Command command) {
    switch (command) {
    case Command::ZoomIn: zoom(kKeyZoom); return true;
    case Command::ZoomOut: zoom(1 / kKeyZoom); return true;
    case Command::PanLeft: range_->panBy(-kKeyPan); break;
    case Command::PanRight: range_->panBy(kKeyPan); break;
    case Command::FitAll: range_->showAll(); return true;
    default: return false;
    }
    endGestureSoon();
    return true;
}

void TimeView::paintFocus(QPainter& painter) const {
    if (!hasFocus()) return;
    painter.setPen(QPen(palette().color(QPalette::Highlight), kFocusFrame));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(viewport()->rect().adjusted(1, 1, -1, -1));
}

void TimeView::resizeEvent(QResizeEvent*) {
    relayout();
}

void TimeView::scrollContentsBy(int, int) {
    invalidate();
}

void TimeView::changeEvent(QEvent* event) {
    if (event->type() == QEvent::FontChange) {
        text_sizes_.clear();
        relayout();
    } else if (event->type() == QEvent::LanguageChange) {
        invalidate();
    }
    QAbstractScrollArea::changeEvent(event);
}

bool TimeView::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::Leave) pointerLeft();
    if (event->type() != QEvent::ToolTip) return QAbstractScrollArea::viewportEvent(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const QString text = toolTipAt(help->pos()); text.isEmpty()) {
        QToolTip::hideText();
    } else {
        QToolTip::showText(help->globalPos(), text, viewport());
    }
    return true;
}

void TimeView::wheelEvent(QWheelEvent* event) {
    event->accept();
    const QPoint angle = event->angleDelta();
    const double x = event->position().x() - names_;
    const bool control = event->modifiers().testFlag(Qt::ControlModifier);
    const bool sideways = event->modifiers().testFlag(Qt::ShiftModifier) || std::abs(angle.x()) > std::abs(angle.y());
    if (x < 0 && control) {
        if (angle.y() != 0) changeRowHeight(angle.y() > 0 ? 1 : -1);
    } else if (sideways) {
        const int delta = angle.x() != 0 ? angle.x() : angle.y();
        range_->panBy(-delta / kWheelNotch * kWheelPan);
    } else if (x < 0 || control == (wheel_ == Wheel::Zooms)) {
        // Over the names, turning the wheel always scrolls the rows.
        const auto lines = static_cast<int>(std::lround(angle.y() / kWheelNotch * verticalScrollBar()->singleStep()));
        verticalScrollBar()->setValue(verticalScrollBar()->value() - lines);
    } else {
        range_->zoomAt(x / plot().width(), std::pow(kWheelZoom, angle.y() / kWheelNotch));
    }
    endGestureSoon();
    if (x >= 0 && event->modifiers() == Qt::NoModifier) emit wheelTurned();
}

} // namespace bubblescope::gui
