#include "app/gui/charts/bar_chart.h"

#include "app/gui/language/text.h"

#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr int kGap = 3; ///< space above and below a bar in its row

double ns(TimeNs time) {
    return static_cast<double>(time.count());
}

} // namespace

TimeNs Bar::below() const {
    TimeNs sum{0};
    for (const BarPart& part : parts)
        sum += std::min(TimeNs{0}, part.time);
    return sum;
}

TimeNs Bar::above() const {
    TimeNs sum{0};
    for (const BarPart& part : parts)
        sum += std::max(TimeNs{0}, part.time);
    return sum;
}

BarLayout::BarLayout(const std::vector<Bar>& bars, int width, int name_width, int row_height)
    : bars_(&bars), left_(name_width), width_(std::max(name_width + 10, width - 12)), row_height_(row_height) {
    std::vector<double> ends;
    double lowest = 0;
    for (const Bar& bar : bars) {
        ends.push_back(ns(bar.above()));
        lowest = std::min(lowest, ns(bar.below()));
    }
    axis_ = robustAxis(ends, true);
    axis_.low = lowest;
}

void BarLayout::addBar(int bar, std::vector<Part>& out) const {
    double right = 0;
    double left = 0;
    const auto& parts = (*bars_)[static_cast<std::size_t>(bar)].parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        double& end = parts[i].time < TimeNs{0} ? left : right;
        const double from = end;
        end += ns(parts[i].time);
        const double x1 = std::round(x(std::min(from, end)));
        const double x2 = std::round(std::min(x(std::max(from, end)), width_));
        if (x2 <= x1) continue;
        const QRectF rect(x1, rowTop(bar) + kGap, x2 - x1, std::max(1, row_height_ - 2 * kGap));
        out.push_back({rect, bar, static_cast<int>(i), end > axis_.high});
    }
}

std::vector<BarLayout::Part> BarLayout::parts(int top, int bottom) const {
    std::vector<Part> out;
    if (bars_ == nullptr) return out;
    const int count = static_cast<int>(bars_->size());
    const int first = std::clamp((top - kAxisHeight) / row_height_, 0, count);
    for (int bar = first; bar < count && rowTop(bar) < bottom; ++bar)
        addBar(bar, out);
    return out;
}

BarLayout::Part BarLayout::at(double x, double y) const {
    Part none{{}, -1, -1, false};
    if (bars_ == nullptr || y < kAxisHeight) return none;
    const int bar = static_cast<int>((y - kAxisHeight) / row_height_);
    if (bar >= static_cast<int>(bars_->size())) return none;
    none.bar = bar;
    std::vector<Part> parts;
    addBar(bar, parts);
    for (const Part& part : parts) {
        if (x >= part.rect.left() && x < part.rect.right()) return part;
    }
    return none;
}

namespace {

constexpr int kMinRowHeight = 16;
constexpr int kTallestRow = 30;
constexpr int kBarMargin = 10;

} // namespace

BarChart::BarChart(ThemeManager& themes, QWidget* parent) : QAbstractScrollArea(parent), themes_(themes) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    connect(qApp, &QApplication::focusChanged, viewport(), qOverload<>(&QWidget::update)); // for the focus frame
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
    connect(&themes_, &ThemeManager::changed, viewport(), qOverload<>(&QWidget::update));
}

void BarChart::setLook(Colour colour, ToolTip tool_tip) {
    colour_ = std::move(colour);
    tool_tip_ = std::move(tool_tip);
}

void BarChart::setBars(std::vector<Bar> bars) {
    bars_ = std::move(bars);
    marked_bar_ = marked_part_ = -1;
    relayout();
}

std::set<int> BarChart::usedPieces() const {
    std::set<int> used;
    for (const Bar& bar : bars_) {
        for (const BarPart& part : bar.parts)
            used.insert(part.piece);
    }
    return used;
}

void BarChart::setMarked(int bar, int part) {
    marked_bar_ = bar;
    marked_part_ = part;
    viewport()->update();
}

void BarChart::setCurrent(int bar) {
    current_ = bar;
    if (bar >= 0) {
        const int top = layout_.rowTop(bar) - BarLayout::kAxisHeight;
        QScrollBar* scroll = verticalScrollBar();
        const int page = viewport()->height() - BarLayout::kAxisHeight;
        if (top < scroll->value()) scroll->setValue(top);
        if (top + layout_.rowHeight() > scroll->value() + page) scroll->setValue(top + layout_.rowHeight() - page);
    }
    viewport()->update();
}

int BarChart::nameWidth() const {
    int widest = 0;
    for (const Bar& bar : bars_)
        widest = std::max(widest, fontMetrics().horizontalAdvance(bar.name));
    return widest + 2 * kBarMargin;
}

void BarChart::relayout() {
    const int room = viewport()->height() - BarLayout::kAxisHeight;
    const int least = std::max(kMinRowHeight, fontMetrics().height() + 2);
    const int row =
        bars_.empty() ? kMinRowHeight : std::clamp(room / static_cast<int>(bars_.size()), least, kTallestRow);
    layout_ = BarLayout(bars_, viewport()->width(), nameWidth(), row);
    const int hidden = static_cast<int>(bars_.size()) * row - room;
    verticalScrollBar()->setRange(0, std::max(0, hidden));
    verticalScrollBar()->setPageStep(std::max(1, room));
    verticalScrollBar()->setSingleStep(row);
    viewport()->update();
}

QRectF BarChart::partRect(int bar, int part) const {
    for (const BarLayout::Part& found : layout_.parts(layout_.rowTop(bar), layout_.rowTop(bar) + 1)) {
        if (found.bar == bar && found.part == part) return found.rect.translated(0, -verticalScrollBar()->value());
    }
    return {};
}

void BarChart::paintAxis(QPainter& painter) const {
    const Theme& theme = themes_.theme();
    const int width = viewport()->width();
    painter.fillRect(0, 0, width, BarLayout::kAxisHeight, theme.header);
    painter.fillRect(0, BarLayout::kAxisHeight - 1, width, 1, theme.line);
    painter.setPen(theme.text_dim);
    const std::vector<double> ticks = niceTicks(layout_.axis(), std::max(1, width / 120));
    const QStringList labels = timeTicks(ticks);
    for (qsizetype i = 0; i < labels.size(); ++i) {
        const QString& label = labels[i];
        const double tick = ticks[static_cast<std::size_t>(i)];
        const int text = fontMetrics().horizontalAdvance(label);
        const int left = std::clamp(static_cast<int>(layout_.x(tick)) - text / 2, 0, std::max(0, width - text - 2));
        painter.drawText(QRect(left, 0, text + 2, BarLayout::kAxisHeight), Qt::AlignVCenter, label);
    }
}

void BarChart::paintEvent(QPaintEvent*) {
    const Theme& theme = themes_.theme();
    QPainter painter(viewport());
    painter.fillRect(viewport()->rect(), theme.timeline);
    paintBars(painter);
    if (!hasFocus()) return;
    painter.setPen(QPen(theme.palette.color(QPalette::Highlight), 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(viewport()->rect().adjusted(1, 1, -1, -1));
}

void BarChart::paintBars(QPainter& painter) {
    if (bars_.empty()) return;
    const Theme& theme = themes_.theme();
    const int scroll = verticalScrollBar()->value();
    const int height = viewport()->height();
    painter.save();
    painter.setClipRect(0, BarLayout::kAxisHeight, viewport()->width(), height);
    painter.translate(0, -scroll);
    const QRect row(0, 0, viewport()->width(), layout_.rowHeight());
    if (current_ >= 0) painter.fillRect(row.translated(0, layout_.rowTop(current_)), theme.header);
    for (const double tick : niceTicks(layout_.axis(), std::max(1, viewport()->width() / 120)))
        painter.fillRect(QRectF(std::round(layout_.x(tick)), scroll, 1, height), tick == 0 ? theme.line : theme.grid);
    int named = -1;
    QRectF marked;
    for (const BarLayout::Part& part : layout_.parts(scroll, scroll + height)) {
        const int piece = bars_[static_cast<std::size_t>(part.bar)].parts[static_cast<std::size_t>(part.part)].piece;
        QRectF body = part.rect;
        if (body.width() >= 3) body.setWidth(body.width() - 1);
        painter.fillRect(body, colour_(theme, piece));
        if (part.bar == marked_bar_ && part.part == marked_part_) marked = part.rect;
        if (part.clipped) { // draws a jagged edge
            painter.fillRect(QRectF(body.right() - 5, body.top(), 2, body.height()), theme.timeline);
        }
        if (part.bar == named) continue;
        named = part.bar;
        painter.setPen(part.bar == current_ ? theme.text : theme.text_dim);
        painter.drawText(
            QRectF(kBarMargin, layout_.rowTop(part.bar), nameWidth() - 2 * kBarMargin, layout_.rowHeight()),
            Qt::AlignLeft | Qt::AlignVCenter, bars_[static_cast<std::size_t>(part.bar)].name);
    }
    if (!marked.isEmpty()) {
        painter.setPen(QPen(theme.selection, 2));
        painter.drawRect(marked.adjusted(0, -1, -1, 1));
    }
    painter.restore();
    paintAxis(painter);
}

void BarChart::resizeEvent(QResizeEvent*) {
    relayout();
}

bool BarChart::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const BarLayout::Part part = help->pos().y() < BarLayout::kAxisHeight
                                         ? BarLayout::Part{{}, -1, -1, false}
                                         : layout_.at(help->pos().x(), help->pos().y() + verticalScrollBar()->value());
        if (part.bar >= 0 && part.part >= 0) {
            QToolTip::showText(help->globalPos(), tool_tip_(part.bar, part.part), viewport());
        } else {
            QToolTip::hideText();
        }
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void BarChart::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || event->position().y() < BarLayout::kAxisHeight) return;
    const BarLayout::Part part =
        layout_.at(event->position().x(), event->position().y() + verticalScrollBar()->value());
    if (part.bar >= 0) emit clicked(part.bar, part.part);
}

void BarChart::keyPressEvent(QKeyEvent* event) {
    const int count = static_cast<int>(bars_.size());
    if (count == 0) return QAbstractScrollArea::keyPressEvent(event);
    const int bar = std::max(0, marked_bar_ >= 0 ? marked_bar_ : current_);
    const auto parts = static_cast<int>(bars_[static_cast<std::size_t>(bar)].parts.size());
    // Left and right move between the visible parts; up and down move between the bars.
    const auto visible = [&](int direction) {
        int part = marked_part_ < 0 ? (direction > 0 ? -1 : parts) : marked_part_;
        do {
            part += direction;
        } while (part >= 0 && part < parts && partRect(bar, part).isEmpty());
        return part;
    };
    switch (event->key()) {
    case Qt::Key_Up: emit clicked(std::max(0, bar - 1), marked_part_); break;
    case Qt::Key_Down: emit clicked(std::min(count - 1, bar + 1), marked_part_); break;
    case Qt::Key_Left:
        if (const int part = visible(-1); part >= 0) emit clicked(bar, part);
        break;
    case Qt::Key_Right:
        if (const int part = visible(1); part < parts) emit clicked(bar, part);
        break;
    default: QAbstractScrollArea::keyPressEvent(event);
    }
}

} // namespace bubblescope::gui
