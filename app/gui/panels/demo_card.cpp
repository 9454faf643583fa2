#include "app/gui/panels/demo_card.h"

#include <QPainter>
#include <QPainterPath>

namespace bubblescope::gui {

namespace {

constexpr int kCardWidth = 260;
constexpr int kCardPadding = 12;
constexpr int kCardGap = 6; ///< between title and sentence
constexpr int kCardRadius = 6;
constexpr int kUnlimited = 4096;

} // namespace

DemoCard::DemoCard(const DemoTrace& demo, QWidget* parent) : QAbstractButton(parent), says_(demoSays(demo)) {
    setObjectName(QStringLiteral("demo-") + demoName(demo));
    setText(demoTitle(demo));
    setAccessibleDescription(says_);
    setCursor(Qt::PointingHandCursor);
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_Hover);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Minimum);
}

QFont DemoCard::titleFont() const {
    QFont bold = font();
    bold.setBold(true);
    return bold;
}

QRect DemoCard::saysIn(const QRect& card) const {
    const int title = QFontMetrics(titleFont()).height();
    return card.adjusted(kCardPadding, kCardPadding + title + kCardGap, -kCardPadding, -kCardPadding);
}

QSize DemoCard::sizeHint() const {
    const QRect room = saysIn(QRect(0, 0, kCardWidth, kUnlimited));
    const int says = fontMetrics().boundingRect(room, Qt::TextWordWrap, says_).height();
    return {kCardWidth, room.top() + says + kCardPadding};
}

void DemoCard::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QPainterPath border;
    border.addRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), kCardRadius, kCardRadius);
    painter.fillPath(border, palette().color(isDown() ? QPalette::Midlight : QPalette::Base));
    const bool marked = hasFocus() || underMouse();
    painter.setPen(QPen(palette().color(marked ? QPalette::Highlight : QPalette::Mid), hasFocus() ? 2 : 1));
    painter.drawPath(border);
    painter.setPen(palette().color(QPalette::Link));
    painter.setFont(titleFont());
    const QRect title = rect().adjusted(kCardPadding, kCardPadding, -kCardPadding, 0);
    painter.drawText(title, Qt::AlignTop | Qt::AlignLeft,
                     painter.fontMetrics().elidedText(text(), Qt::ElideRight, title.width()));
    painter.setPen(palette().color(QPalette::Text));
    painter.setFont(font());
    painter.drawText(saysIn(rect()), Qt::TextWordWrap, says_);
}

} // namespace bubblescope::gui
