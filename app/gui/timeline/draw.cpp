#include "app/gui/timeline/draw.h"

#include <QFontMetrics>
#include <QPainter>
#include <QPolygonF>

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr int kLongMark = 7;
constexpr int kShortMark = 4;
constexpr int kLabelLift = 4;        ///< pixels below a ruler's labels
constexpr double kHead = 6;          ///< length of an arrowhead
constexpr double kMinLineLength = 3; ///< shorter lines have no arrowhead
constexpr double kSliceGapFrom = 3;  ///< slices at least this wide leave a gap of one pixel before the next

} // namespace

void drawRuler(QPainter& painter, const Theme& theme, const std::vector<Tick>& ticks, const QRect& band, int names,
               const QString& note) {
    const QFontMetrics metrics(painter.font());
    const int below = band.bottom() + 1;
    const int height = band.height() - kLabelLift;
    painter.save();
    painter.setClipRect(band.adjusted(names, 0, 0, 0));
    painter.setPen(theme.text_dim);
    for (const Tick& tick : ticks) {
        const int x = names + static_cast<int>(std::lround(tick.x));
        const int mark = tick.major ? kLongMark : kShortMark;
        painter.fillRect(QRect(x, below - mark, 1, mark), tick.major ? theme.text_dim : theme.line);
        // A label that is cut off at the edge would show a wrong number.
        const int width = metrics.horizontalAdvance(tick.label);
        if (tick.major && x + 4 + width <= band.right())
            painter.drawText(QRect(x + 4, band.top(), width + 1, height), Qt::AlignLeft | Qt::AlignVCenter, tick.label);
    }
    painter.setClipRect(QRect(band.left(), band.top(), names, band.height()));
    painter.drawText(QRect(band.left(), band.top(), names - 8, height), Qt::AlignRight | Qt::AlignVCenter, note);
    painter.restore();
    painter.fillRect(QRect(band.left(), band.bottom(), band.width(), 1), theme.line);
}

void drawArrow(QPainter& painter, const QLineF& line, const QColor& colour, double width) {
    painter.setPen(QPen(colour, width, Qt::SolidLine, Qt::FlatCap));
    painter.drawLine(line);
    const double length = line.length();
    if (length < kMinLineLength) return;
    const QPointF along(line.dx() / length, line.dy() / length);
    const QPointF across(-along.y(), along.x());
    const double head = std::min(kHead + width, length);
    const QPointF base = line.p2() - along * head;
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    painter.drawPolygon(QPolygonF{line.p2(), base + across * head * 0.45, base - across * head * 0.45});
    painter.setBrush(Qt::NoBrush);
}

void drawFold(QPainter& painter, const Theme& theme, bool open, const QPointF& centre) {
    QPolygonF triangle;
    if (open) {
        triangle << centre + QPointF(-4, -2) << centre + QPointF(4, -2) << centre + QPointF(0, 3);
    } else {
        triangle << centre + QPointF(-2, -4) << centre + QPointF(-2, 4) << centre + QPointF(3, 0);
    }
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.text_dim);
    painter.drawPolygon(triangle);
    painter.restore();
}

void drawOutline(QPainter& painter, const QRectF& rect, const QColor& colour, int width, bool dashed) {
    if (rect.isEmpty()) return;
    QPen pen(colour, width, dashed ? Qt::DashLine : Qt::SolidLine);
    pen.setJoinStyle(Qt::MiterJoin);
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    const double inset = width / 2.0;
    painter.drawRect(rect.adjusted(-1 + inset, -1 + inset, 1 - inset, 1 - inset));
}

void drawSlice(const SliceTarget& target, const SliceShape& shape, const QColor& colour) {
    QRectF body = shape.rect;
    if (shape.slice != kNoId && body.width() >= kSliceGapFrom)
        body.setWidth(body.width() - 1 / target.device_pixel_ratio);
    if (target.pixels != nullptr) {
        target.pixels->fill(body, colour.rgb());
    } else {
        target.painter.fillRect(body, colour);
    }
    if (shape.label.isEmpty()) return;
    target.painter.setPen(textOn(colour));
    if (target.labels != nullptr)
        return target.labels->draw(target.painter, body.adjusted(3, 0, 0, 0), shape.label, false);
    target.painter.drawText(body.adjusted(3, -2, 0, 2), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                            shape.label);
}

} // namespace bubblescope::gui
