#include "app/gui/timeline/pixel_canvas.h"

#include "core/parallel/parallel.h"

#include <QPaintEngine>
#include <QPainter>
#include <QTransform>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace bubblescope::gui {

PixelCanvas::PixelCanvas(QImage& image, const QRect& plot, double ratio)
    : plot_(image.bits()), stride_(image.bytesPerLine()), ratio_(ratio) {
    // Edges are rounded as a painter rounds them.
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

void PixelCanvas::fillTiled(const QRectF& rect, const QImage& tile) {
    fillTiledDevice(boxOf(rect), tile);
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

/// Many times the number of labels on a screen.
constexpr qsizetype kMaxLabels = 20'000;

/// The image that a painter paints on, if one like `image` can be copied into it.
QImage* imageBelow(const QPainter& painter, const QImage& image) {
    QPaintDevice* const device = painter.paintEngine()->paintDevice();
    if (device == nullptr || device->devType() != QInternal::Image) return nullptr;
    auto* const below = static_cast<QImage*>(device);
    return below->format() == image.format() && below->isDetached() ? below : nullptr;
}

} // namespace

void drawWhole(QPainter& painter, const QImage& image, bool clipped) {
    const double ratio = image.devicePixelRatio();
    const QTransform at = painter.deviceTransform();
    const QPoint corner(qRound(at.dx()), qRound(at.dy()));
    const bool straight = at == QTransform(ratio, 0, 0, ratio, corner.x(), corner.y());
    QImage* const below = clipped || !straight ? nullptr : imageBelow(painter, image);
    if (below == nullptr || !below->rect().contains(QRect(corner, image.size()))) return painter.drawImage(0, 0, image);
    constexpr int kLines = 64;
    const uchar* const from = image.constBits();
    uchar* const to = below->bits() + corner.y() * below->bytesPerLine() + corner.x() * image.depth() / 8;
    const auto bytes = static_cast<std::size_t>(image.width()) * static_cast<std::size_t>(image.depth() / 8);
    parallelFor(static_cast<std::size_t>((image.height() + kLines - 1) / kLines), [&](std::size_t part) {
        const int begin = static_cast<int>(part) * kLines;
        for (int y = begin; y < std::min(image.height(), begin + kLines); ++y)
            std::memcpy(to + y * below->bytesPerLine(), from + y * image.bytesPerLine(), bytes);
    });
}

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
