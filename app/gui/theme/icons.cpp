#include "app/gui/theme/icons.h"

#include <QApplication>
#include <QIconEngine>
#include <QPainter>
#include <QPainterPath>
#include <QPalette>

namespace bubblescope::gui {

namespace {

constexpr double kGrid = 24; ///< shapes are drawn on a square of this size
constexpr double kStroke = 1.8;

void arrow(QPainter& painter, QPointF from, QPointF to, QPointF left, QPointF right) {
    painter.drawLine(from, to);
    painter.drawPolyline(QPolygonF{left, to, right});
}

void drawOpen(QPainter& painter) {
    QPainterPath folder(QPointF(3, 19));
    for (const QPointF point : {QPointF(3, 5), QPointF(9, 5), QPointF(11, 8), QPointF(20, 8), QPointF(20, 11)})
        folder.lineTo(point);
    painter.drawPath(folder);
    painter.drawPolygon(QPolygonF{QPointF(3, 19), QPointF(6, 11), QPointF(22, 11), QPointF(19, 19)});
}

void drawFit(QPainter& painter) {
    painter.drawLine(QPointF(3, 5), QPointF(3, 19));
    painter.drawLine(QPointF(21, 5), QPointF(21, 19));
    arrow(painter, {12, 12}, {6, 12}, {9, 9}, {9, 15});
    arrow(painter, {12, 12}, {18, 12}, {15, 9}, {15, 15});
}

void drawBack(QPainter& painter) {
    arrow(painter, {20, 12}, {4, 12}, {10, 6}, {10, 18});
}

void drawForward(QPainter& painter) {
    arrow(painter, {4, 12}, {20, 12}, {14, 6}, {14, 18});
}

void drawSearch(QPainter& painter) {
    painter.drawEllipse(QPointF(10, 10), 6, 6);
    painter.drawLine(QPointF(14.5, 14.5), QPointF(21, 21));
}

void drawMeasure(QPainter& painter) {
    painter.drawRect(QRectF(2, 8, 20, 8));
    for (const double x : {6.0, 10.0, 14.0, 18.0})
        painter.drawLine(QPointF(x, 8), QPointF(x, 12));
}

/// Two rows of ops with a transfer between them.
void drawArrows(QPainter& painter) {
    painter.drawRect(QRectF(2, 4, 8, 4));
    painter.drawRect(QRectF(14, 16, 8, 4));
    arrow(painter, {8, 8}, {16, 16}, {11.5, 15.5}, {15.5, 11.5});
}

void drawCriticalPath(QPainter& painter) {
    painter.drawPolyline(
        QPolygonF{QPointF(2, 6), QPointF(8, 6), QPointF(11, 18), QPointF(16, 18), QPointF(18, 10), QPointF(22, 10)});
    for (const QPointF at : {QPointF(8, 6), QPointF(16, 18)})
        painter.drawEllipse(at, 1.6, 1.6);
}

void drawCompare(QPainter& painter) {
    painter.drawRect(QRectF(3, 4, 13, 5));
    painter.drawRect(QRectF(3, 14, 18, 5));
    painter.drawLine(QPointF(16, 9), QPointF(16, 14));
}

void drawLive(QPainter& painter) {
    painter.drawEllipse(QPointF(12, 12), 9, 9);
    painter.setBrush(painter.pen().color());
    painter.drawEllipse(QPointF(12, 12), 4, 4);
}

void drawRun(QPainter& painter) {
    painter.drawPolygon(QPolygonF{QPointF(6, 4), QPointF(20, 12), QPointF(6, 20)});
}

/// The observed step with a shorter one below it.
void drawIdeal(QPainter& painter) {
    painter.drawRect(QRectF(2, 5, 20, 5));
    QPen dashed = painter.pen();
    dashed.setDashPattern({2, 1.5});
    painter.setPen(dashed);
    painter.drawRect(QRectF(2, 14, 13, 5));
}

void draw(QPainter& painter, IconShape shape) {
    switch (shape) {
    case IconShape::Open: return drawOpen(painter);
    case IconShape::Fit: return drawFit(painter);
    case IconShape::Back: return drawBack(painter);
    case IconShape::Forward: return drawForward(painter);
    case IconShape::Search: return drawSearch(painter);
    case IconShape::Measure: return drawMeasure(painter);
    case IconShape::Arrows: return drawArrows(painter);
    case IconShape::CriticalPath: return drawCriticalPath(painter);
    case IconShape::Compare: return drawCompare(painter);
    case IconShape::Live: return drawLive(painter);
    case IconShape::Run: return drawRun(painter);
    case IconShape::Ideal: return drawIdeal(painter);
    }
}

class ShapeEngine : public QIconEngine {
public:
    explicit ShapeEngine(IconShape shape) : shape_(shape) {}

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override {
        const QPalette palette = QApplication::palette();
        const auto group = mode == QIcon::Disabled ? QPalette::Disabled : QPalette::Active;
        const auto role = state == QIcon::On ? QPalette::Highlight : QPalette::ButtonText;
        const double side = std::min(rect.width(), rect.height());
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        painter->translate(QRectF(rect).center() - QPointF(side / 2, side / 2));
        painter->scale(side / kGrid, side / kGrid);
        painter->setPen(QPen(palette.color(group, role), kStroke, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter->setBrush(Qt::NoBrush);
        draw(*painter, shape_);
        painter->restore();
    }

    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
        QPixmap pixmap(size);
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        paint(&painter, QRect(QPoint(0, 0), size), mode, state);
        return pixmap;
    }

    [[nodiscard]] QIconEngine* clone() const override { return new ShapeEngine(shape_); }

private:
    IconShape shape_;
};

} // namespace

QIcon drawnIcon(IconShape shape) {
    return QIcon(new ShapeEngine(shape));
}

} // namespace bubblescope::gui
