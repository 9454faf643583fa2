#include "app/gui/charts/flame_graph.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr double kFrameHeight = 17; ///< includes a gap of one pixel
constexpr double kNarrowest = 1;    ///< pixels
constexpr double kNameRoom = 26;    ///< narrower frames have no name

} // namespace

FlameGraph::FlameGraph(ThemeManager& themes, QWidget* parent) : QAbstractScrollArea(parent), themes_(themes) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    connect(&themes_, &ThemeManager::changed, viewport(), qOverload<>(&QWidget::update));
}

void FlameGraph::setLook(Colour colour, ToolTip tool_tip) {
    colour_ = std::move(colour);
    tool_tip_ = std::move(tool_tip);
}

void FlameGraph::setFrames(std::vector<FlameFrame> frames) {
    frames_ = std::move(frames);
    zoomed_ = 0;
    current_ = -1;
    layOut();
}

void FlameGraph::zoomTo(int frame) {
    if (frame < 0 || frame >= static_cast<int>(frames_.size())) return;
    zoomed_ = frame;
    layOut();
}

void FlameGraph::setCurrent(int frame) {
    current_ = frame;
    viewport()->update();
}

/// Children are below their parent, in order from the left. Frames around the zoomed frame fill the width.
void FlameGraph::layOut() {
    rects_.assign(frames_.size(), QRectF());
    const QRectF whole(0, 0, viewport()->width(), kFrameHeight - 1);
    for (int at = frames_.empty() ? -1 : zoomed_; at >= 0; at = frames_[static_cast<std::size_t>(at)].parent)
        rects_[static_cast<std::size_t>(at)] = whole;
    std::vector<bool> inside(frames_.size()); // true if a frame is within the zoomed frame
    std::vector<double> used(frames_.size()); // fraction of a frame's width that previous children use
    double bottom = 0;
    for (std::size_t i = 0; i < frames_.size(); ++i) {
        inside[i] = static_cast<int>(i) == zoomed_;
        if (frames_[i].parent < 0) continue;
        const auto parent = static_cast<std::size_t>(frames_[i].parent);
        const QRectF& above = rects_[parent];
        if (inside[parent] && !above.isEmpty()) {
            inside[i] = true;
            const auto time = static_cast<double>(std::max<std::int64_t>(1, frames_[parent].time.count()));
            const double wide = above.width() * static_cast<double>(frames_[i].time.count()) / time;
            if (wide >= kNarrowest) rects_[i] = QRectF(above.left() + used[parent], 0, wide, kFrameHeight - 1);
            used[parent] += wide;
        }
        if (rects_[i].isEmpty()) continue;
        rects_[i].moveTop(above.top() + kFrameHeight);
        bottom = std::max(bottom, rects_[i].bottom());
    }
    verticalScrollBar()->setRange(0, std::max(0, static_cast<int>(std::ceil(bottom)) - viewport()->height()));
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setSingleStep(static_cast<int>(kFrameHeight));
    viewport()->update();
}

QRectF FlameGraph::rectOf(int frame) const {
    if (frame < 0 || frame >= static_cast<int>(rects_.size())) return {};
    const QRectF& rect = rects_[static_cast<std::size_t>(frame)];
    return rect.isEmpty() ? rect : rect.translated(0, -verticalScrollBar()->value());
}

int FlameGraph::frameAt(const QPointF& position) const {
    const QPointF place = position + QPointF(0, verticalScrollBar()->value());
    const auto found = std::ranges::find_if(rects_, [&](const QRectF& rect) { return rect.contains(place); });
    return found == rects_.end() ? -1 : static_cast<int>(found - rects_.begin());
}

void FlameGraph::paintEvent(QPaintEvent*) {
    const Theme& theme = themes_.theme();
    QPainter painter(viewport());
    painter.fillRect(viewport()->rect(), theme.timeline);
    const QFontMetricsF metrics(font());
    for (std::size_t i = 0; i < rects_.size(); ++i) {
        const QRectF rect = rectOf(static_cast<int>(i));
        if (rect.isEmpty() || rect.bottom() < 0 || rect.top() > viewport()->height()) continue;
        const QColor colour = i == 0 ? theme.line : colour_(theme, frames_[i].key);
        painter.fillRect(rect.adjusted(0, 0, rect.width() > 3 ? -1 : 0, 0), colour);
        if (static_cast<int>(i) == current_) {
            painter.setPen(QPen(theme.selection, 2));
            painter.drawRect(rect.adjusted(1, 1, -2, -1));
        }
        if (rect.width() < kNameRoom) continue;
        painter.setPen(textOn(colour));
        painter.drawText(rect.adjusted(3, 0, -3, 0), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                         metrics.elidedText(frames_[i].name, Qt::ElideRight, rect.width() - 6));
    }
    if (hasFocus()) {
        painter.setPen(palette().color(QPalette::Highlight));
        painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
    }
}

void FlameGraph::resizeEvent(QResizeEvent*) {
    layOut();
}

bool FlameGraph::viewportEvent(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QAbstractScrollArea::viewportEvent(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const int frame = frameAt(help->pos());
    if (frame < 0) {
        QToolTip::hideText();
    } else {
        QToolTip::showText(help->globalPos(), tool_tip_(frame), viewport());
    }
    return true;
}

void FlameGraph::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton) emit chosen(frameAt(event->position()));
}

void FlameGraph::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton) zoomTo(frameAt(event->position()));
}

/// The enclosing frame, the first child, or the visible neighbour of the current frame; the current frame if there is
/// none.
int FlameGraph::neighbour(int key) const {
    const auto drawn = [this](int frame) { return !rects_[static_cast<std::size_t>(frame)].isEmpty(); };
    const auto parentOf = [this](int frame) { return frames_[static_cast<std::size_t>(frame)].parent; };
    const auto count = static_cast<int>(frames_.size());
    if (key == Qt::Key_Up) return std::max(0, parentOf(current_));
    if (key == Qt::Key_Down) {
        for (int i = current_ + 1; i < count; ++i) {
            if (parentOf(i) == current_ && drawn(i)) return i;
        }
        return current_;
    }
    const int by = key == Qt::Key_Left ? -1 : 1;
    for (int i = current_ + by; i > 0 && i < count; i += by) {
        if (parentOf(i) == parentOf(current_) && drawn(i)) return i;
    }
    return current_;
}

void FlameGraph::keyPressEvent(QKeyEvent* event) {
    const bool moves = event->key() == Qt::Key_Up || event->key() == Qt::Key_Down || event->key() == Qt::Key_Left ||
                       event->key() == Qt::Key_Right;
    if (frames_.empty() || (!moves && event->key() != Qt::Key_Return)) return QAbstractScrollArea::keyPressEvent(event);
    if (!moves) return zoomTo(current_);
    emit chosen(current_ < 0 ? zoomed_ : neighbour(event->key()));
}

} // namespace bubblescope::gui
