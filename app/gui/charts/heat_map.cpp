#include "app/gui/charts/heat_map.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QTextDocument>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr int kHeader = 20;
constexpr int kMinCellSize = 15;
constexpr int kTallestCell = 30;
constexpr int kMaxCellWidth = 64;
constexpr int kHeatMargin = 10;
constexpr int kScaleHeight = 26;
constexpr int kScaleWidth = 120;

/// Interpolates two colours. `share` is the fraction of the second colour.
QColor between(const QColor& from, const QColor& to, double share) {
    const auto mix = [share](int a, int b) { return static_cast<int>(std::lround(a + (b - a) * share)); };
    return {mix(from.red(), to.red()), mix(from.green(), to.green()), mix(from.blue(), to.blue())};
}

} // namespace

HeatMap::HeatMap(ThemeManager& themes, QWidget* parent) : QWidget(parent), themes_(themes) {
    setAttribute(Qt::WA_OpaquePaintEvent);
    setMinimumSize(160, 80);
    connect(&themes_, &ThemeManager::changed, this, qOverload<>(&QWidget::update));
}

QSize HeatMap::sizeHint() const {
    return {320, kHeader + static_cast<int>(rows_.size()) * 22 + kHeatMargin + scaleHeight()};
}

int HeatMap::scaleHeight() const {
    return best_.isEmpty() ? 0 : kScaleHeight;
}

void HeatMap::setScale(QString best, QString worst) {
    best_ = std::move(best);
    worst_ = std::move(worst);
    update();
}

void HeatMap::setColumnAxis(QString name) {
    column_axis_ = std::move(name);
    update();
}

void HeatMap::setCells(QStringList rows, QStringList columns, std::vector<Cell> cells) {
    rows_ = std::move(rows);
    columns_ = std::move(columns);
    cells_ = std::move(cells);
    setMinimumHeight(kHeader + static_cast<int>(rows_.size()) * kMinCellSize + scaleHeight());
    update();
}

int HeatMap::rowNameWidth() const {
    int widest = fontMetrics().horizontalAdvance(column_axis_);
    for (const QString& row : rows_)
        widest = std::max(widest, fontMetrics().horizontalAdvance(row));
    return widest + 2 * kHeatMargin;
}

QRectF HeatMap::cellRect(int row, int column) const {
    const int left = rowNameWidth();
    const double wide =
        std::min<double>(kMaxCellWidth, (width() - left - double{kHeatMargin}) / static_cast<double>(columns_.size()));
    const double high = std::clamp<double>(
        (height() - kHeader - scaleHeight() - 4.0) / static_cast<double>(rows_.size()), kMinCellSize, kTallestCell);
    const double x = std::round(left + column * wide);
    const double y = std::round(kHeader + row * high);
    return {x, y, std::round(left + (column + 1) * wide) - x - 1, std::round(kHeader + (row + 1) * high) - y - 1};
}

QColor HeatMap::colour(const Cell& cell) const {
    const Theme& theme = themes_.theme();
    if (cell.state == Cell::State::Empty) return theme.header;
    if (cell.state == Cell::State::Bad) return theme.bad;
    if (cell.state == Cell::State::Slow) return between(theme.fill(Role::Forward, 100, 101), theme.bad, cell.value);
    // Higher values are paler, in a single hue, so that only the lightness varies.
    return theme.fill(Role::Forward, static_cast<int>(std::lround(cell.value * 100)), 101);
}

void HeatMap::paintEvent(QPaintEvent*) {
    const Theme& theme = themes_.theme();
    QPainter painter(this);
    painter.fillRect(rect(), theme.timeline);
    if (rows_.isEmpty() || columns_.isEmpty()) return;
    painter.setPen(theme.text_dim);
    painter.drawText(QRect(kHeatMargin, 0, rowNameWidth(), kHeader), Qt::AlignLeft | Qt::AlignVCenter, column_axis_);
    for (int column = 0; column < columns_.size(); ++column) {
        const QRectF cell = cellRect(0, column);
        if (fontMetrics().horizontalAdvance(columns_[column]) <= cell.width() + 1)
            painter.drawText(QRectF(cell.left(), 0, cell.width(), kHeader), Qt::AlignCenter, columns_[column]);
    }
    for (int row = 0; row < rows_.size(); ++row) {
        const QRectF first = cellRect(row, 0);
        painter.setPen(theme.text_dim);
        painter.drawText(QRectF(kHeatMargin, first.top(), first.left() - 2 * kHeatMargin, first.height()),
                         Qt::AlignLeft | Qt::AlignVCenter, rows_[row]);
        for (int column = 0; column < columns_.size(); ++column) {
            const Cell& cell = cells_[static_cast<std::size_t>(row * columns_.size() + column)];
            const QRectF box = cellRect(row, column);
            const QColor background = colour(cell);
            painter.fillRect(box, background);
            if (fontMetrics().horizontalAdvance(cell.text) + 2 > box.width()) continue;
            painter.setPen(cell.state == Cell::State::Empty ? theme.text_dim : textOn(background));
            painter.drawText(box, Qt::AlignCenter, cell.text);
        }
    }
    if (!best_.isEmpty()) paintScale(painter);
}

/// Paints the continuous scale with its two ends.
void HeatMap::paintScale(QPainter& painter) const {
    const QRectF last = cellRect(static_cast<int>(rows_.size()) - 1, 0);
    const double top = std::round(last.bottom()) + 8;
    const QRectF left(last.left(), top, fontMetrics().horizontalAdvance(best_), kScaleHeight - 12);
    const QRectF bar(left.right() + 6, top, kScaleWidth, left.height());
    Cell cell{Cell::State::Slow, 0, {}, {}};
    for (int x = 0; x < kScaleWidth; ++x) {
        cell.value = static_cast<double>(x) / (kScaleWidth - 1);
        painter.fillRect(QRectF(bar.left() + x, bar.top(), 1, bar.height()), colour(cell));
    }
    painter.setPen(themes_.theme().text_dim);
    painter.drawText(left, Qt::AlignCenter, best_);
    painter.drawText(QRectF(bar.right() + 6, top, width(), bar.height()), Qt::AlignLeft | Qt::AlignVCenter, worst_);
}

int HeatMap::indexAt(const QPointF& position) const {
    for (int row = 0; row < rows_.size(); ++row) {
        for (int column = 0; column < columns_.size(); ++column) {
            if (cellRect(row, column).contains(position)) return static_cast<int>(row * columns_.size() + column);
        }
    }
    return -1;
}

void HeatMap::mousePressEvent(QMouseEvent* event) {
    const int index = indexAt(event->position());
    if (index >= 0) emit clicked(static_cast<int>(index / columns_.size()), static_cast<int>(index % columns_.size()));
}

bool HeatMap::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const int index = indexAt(help->pos());
    QToolTip::showText(
        help->globalPos(),
        index < 0 ? QString() : Qt::convertFromPlainText(cells_[static_cast<std::size_t>(index)].explanation), this);
    return true;
}

} // namespace bubblescope::gui
