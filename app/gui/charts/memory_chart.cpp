#include "app/gui/charts/memory_chart.h"

#include "app/gui/charts/axis.h"
#include "app/gui/language/text.h"

#include <QLocale>
#include <QPainter>

#include <algorithm>

namespace bubblescope::gui {

namespace {

constexpr int kLeft = 44;
constexpr int kTitle = 18;
constexpr int kMemoryMargin = 10;

} // namespace

MemoryChart::MemoryChart(ThemeManager& themes, QWidget* parent) : QWidget(parent), themes_(themes) {
    setObjectName(QStringLiteral("memoryChart"));
    setAccessibleName(tr("Activations held by each rank over the step"));
    setAttribute(Qt::WA_OpaquePaintEvent);
    setMinimumHeight(90);
    connect(&themes_, &ThemeManager::changed, this, qOverload<>(&QWidget::update));
}

void MemoryChart::setCurves(std::vector<std::vector<MemoryPoint>> ranks, TimeNs end, double unit) {
    ranks_ = std::move(ranks);
    end_ = end;
    unit_ = unit;
    update();
}

QRectF MemoryChart::plot() const {
    return {kLeft, kTitle, std::max(1.0, width() - double{kLeft} - kMemoryMargin),
            std::max(1.0, height() - kTitle - 20.0)};
}

double MemoryChart::maximum() const {
    std::int64_t maximum = 0;
    for (const auto& rank : ranks_) {
        for (const MemoryPoint& point : rank)
            maximum = std::max(maximum, point.bytes);
    }
    return std::max(1.0, static_cast<double>(maximum) / unit_);
}

QPolygonF MemoryChart::stairs(std::size_t rank) const {
    const QRectF area = plot();
    const double high = maximum() * 1.08;
    const auto length = static_cast<double>(std::max<std::int64_t>(1, end_.count()));
    QPolygonF line;
    for (const MemoryPoint& point : ranks_[rank]) {
        const double x = area.left() + static_cast<double>(point.time.count()) / length * area.width();
        if (!line.isEmpty()) line << QPointF(x, line.back().y());
        line << QPointF(x, area.bottom() - static_cast<double>(point.bytes) / unit_ / high * area.height());
    }
    if (!line.isEmpty()) line << QPointF(area.right(), line.back().y());
    return line;
}

void MemoryChart::paintEvent(QPaintEvent*) {
    const Theme& theme = themes_.theme();
    QPainter painter(this);
    painter.fillRect(rect(), theme.timeline);
    if (ranks_.empty()) return;
    const QRectF area = plot();
    const Axis axis{0, maximum() * 1.08, false};
    for (const double tick : niceTicks(axis, 4)) {
        const double y = std::round(area.bottom() - axis.fraction(tick) * area.height());
        painter.fillRect(QRectF(area.left(), y, area.width(), 1), theme.grid);
        painter.setPen(theme.text_dim);
        painter.drawText(QRectF(0, y - 10, kLeft - 6, 20), Qt::AlignRight | Qt::AlignVCenter, QLocale().toString(tick));
    }
    painter.setPen(theme.text_dim);
    painter.drawText(QRectF(area.left(), 0, area.width(), kTitle), Qt::AlignLeft | Qt::AlignVCenter,
                     tr("Activations held, counted in forward ops of one chunk; dark: rank 0, light: rank %1")
                         .arg(ranks_.size() - 1));
    painter.drawText(QRectF(area.left(), area.bottom() + 2, area.width(), 18), Qt::AlignRight | Qt::AlignVCenter,
                     shortTime(end_));
    painter.fillRect(QRectF(area.left(), area.bottom(), area.width(), 1), theme.line);
    const auto count = static_cast<int>(ranks_.size());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        painter.setPen(QPen(theme.fill(Role::Forward, static_cast<int>(rank), std::max(2, count)), 1.6));
        painter.drawPolyline(stairs(rank));
    }
}

} // namespace bubblescope::gui
