#include "app/gui/tour/tour.h"

#include <QPainter>
#include <QPainterPath>

namespace bubblescope::gui {

namespace {

constexpr int kSpotRadius = 6;
constexpr int kSpotLine = 2;
constexpr int kSpotDim = 90; ///< of 255: what is not pointed at stays readable

} // namespace

TourSpot::TourSpot(QWidget* window) : QWidget(window) {
    setObjectName(QStringLiteral("tourSpot"));
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setAttribute(Qt::WA_NoSystemBackground);
    setFocusPolicy(Qt::NoFocus);
}

void TourSpot::pointAt(const QRect& place, const QColor& frame) {
    place_ = place;
    frame_ = frame;
    update();
}

void TourSpot::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QPainterPath dimmed;
    dimmed.addRect(rect());
    QPainterPath hole;
    hole.addRoundedRect(place_, kSpotRadius, kSpotRadius);
    painter.fillPath(dimmed.subtracted(hole), QColor(0, 0, 0, kSpotDim));
    if (place_.isEmpty()) return;
    painter.setPen(QPen(frame_, kSpotLine));
    painter.drawPath(hole);
}

} // namespace bubblescope::gui
