#include "app/gui/timeline/pixel_canvas.h"

#include <QPainter>
#include <QTransform>

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

PixelCanvas::PixelCanvas(QImage& image, const QRect& plot, double ratio)
    : plot_(image.bits()), stride_(image.bytesPerLine()), ratio_(ratio) {
    // Edges are rounded as in QPainter.
    const QPoint begin(qRound(plot.left() * ratio), qRound(plot.top() * ratio));
    const QPoint end(qRound((plot.right() + 1) * ratio), qRound((plot.bottom() + 1) * ratio));
    const QRect inside = QRect(begin, end - QPoint(1, 1)) & image.rect();
    plot_ += inside.top() * stride_ + inside.left() * static_cast<qsizetype>(sizeof(QRgb));
    width_ = inside.width();
    height_ = inside.height();
}

void PixelCanvas::fill(const QRectF& rect, QRgb colour) {
    fillDevice(boxOf(rect), colour);
}

void PixelCanvas::fillTiledDevice(PixelBox box, const QImage& tile) {
    clip(box);
    if (box.left >= box.right) return;
    const int width = tile.width();
    const int height = tile.height();
    const uchar* tile_bits = tile.constBits();
    const qsizetype tile_stride = tile.bytesPerLine();
    const int first = box.left % width;
    for (int y = box.top; y < box.bottom; ++y) {
        const auto* from = reinterpret_cast<const QRgb*>(tile_bits + y % height * tile_stride);
        QRgb* to = line(y) + box.left;
        int at = first;
        for (int left = box.right - box.left; left > 0;) {
            const int part = std::min(left, width - at);
            to = std::copy_n(from + at, part, to);
            left -= part;
            at = 0;
        }
    }
}

namespace {

/// A multiple of the number of labels on a screen.
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
