#include "app/gui/timeline/label_cache.h"

#include <QPainter>
#include <QTransform>

#include <cmath>

namespace bubblescope::gui {

namespace {

/// What is on the screen fits many times over.
constexpr qsizetype kMaxLabels = 20'000;

} // namespace

void LabelCache::setFont(const QFont& font) {
    if (font == font_) return;
    font_ = font;
    texts_.clear();
}

void LabelCache::draw(QPainter& painter, const QRectF& box, const QString& text, bool centred) {
    auto known = texts_.find(text);
    if (known == texts_.end()) {
        if (texts_.size() >= kMaxLabels) texts_.clear();
        QStaticText laid(text);
        laid.setTextFormat(Qt::PlainText);
        laid.setPerformanceHint(QStaticText::AggressiveCaching);
        laid.prepare(QTransform(), font_);
        known = texts_.insert(text, laid);
    }
    const QSizeF size = known->size();
    const double x = centred ? box.left() + (box.width() - size.width()) / 2 : box.left();
    painter.drawStaticText(QPointF(std::round(x), std::round(box.top() + (box.height() - size.height()) / 2)), *known);
}

} // namespace bubblescope::gui
