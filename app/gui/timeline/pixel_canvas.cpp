#include "app/gui/timeline/pixel_canvas.h"

#include <QPainter>
#include <QTransform>

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

PixelCanvas::PixelCanvas(QImage& image, const QRect& plot, double ratio)
    : bits_(image.bits()), stride_(image.bytesPerLine()), ratio_(ratio) {
    const QRectF device(plot.left() * ratio, plot.top() * ratio, plot.width() * ratio, plot.height() * ratio);
    plot_ = device.toRect() & image.rect();
}

int PixelCanvas::device(double logical) const {
    return static_cast<int>(std::lround(logical * ratio_));
}

QRect PixelCanvas::clipped(const QRectF& rect) const {
    const QPoint corner(plot_.left() + device(rect.left()), plot_.top() + device(rect.top()));
    const QPoint end(plot_.left() + device(rect.right()), plot_.top() + device(rect.bottom()));
    return QRect(corner, QSize(end.x() - corner.x(), end.y() - corner.y())) & plot_;
}

void PixelCanvas::fill(const QRectF& rect, QRgb colour) {
    fillDevice(clipped(rect).translated(-plot_.topLeft()), colour);
}

void PixelCanvas::fillDevice(const QRect& rect, QRgb colour) {
    const QRect box = rect.translated(plot_.topLeft()) & plot_;
    if (box.width() == 1) { // most are one of thousands of columns
        for (int y = box.top(); y <= box.bottom(); ++y)
            line(y)[box.left()] = colour;
        return;
    }
    for (int y = box.top(); y <= box.bottom(); ++y)
        std::fill_n(line(y) + box.left(), box.width(), colour);
}

void PixelCanvas::fillTiled(const QRectF& rect, const QImage& tile) {
    fillTiledDevice(clipped(rect).translated(-plot_.topLeft()), tile);
}

void PixelCanvas::fillTiledDevice(const QRect& rect, const QImage& tile) {
    const QRect box = rect.translated(plot_.topLeft()) & plot_;
    const int width = tile.width();
    const int height = tile.height();
    const uchar* tile_bits = tile.constBits();
    const qsizetype tile_stride = tile.bytesPerLine();
    const int first = (box.left() - plot_.left()) % width;
    for (int y = box.top(); y <= box.bottom(); ++y) {
        const auto* from = reinterpret_cast<const QRgb*>(tile_bits + (y - plot_.top()) % height * tile_stride);
        QRgb* to = line(y) + box.left();
        int at = first;
        for (int left = box.width(); left > 0;) {
            const int part = std::min(left, width - at);
            to = std::copy_n(from + at, part, to);
            left -= part;
            at = 0;
        }
    }
}

/// Bar by bar: most bars are one pixel wide, and the lines of one lane stay in the cache.
void PixelCanvas::fillBars(double top, double height, const std::vector<PixelBar>& bars) {
    const int lane = plot_.top() + device(top);
    const int end = std::min(plot_.top() + device(top + height), plot_.bottom() + 1);
    for (const PixelBar& bar : bars) {
        const int left = std::clamp(bar.left, 0, plot_.width());
        const int right = std::clamp(bar.right, left, plot_.width());
        for (int y = std::max(lane + bar.top, plot_.top()); y < end; ++y) {
            QRgb* pixels = line(y) + plot_.left();
            for (int x = left; x < right; ++x)
                pixels[x] = bar.colour;
        }
    }
}

namespace {

/// Many times the number of labels on a screen.
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
