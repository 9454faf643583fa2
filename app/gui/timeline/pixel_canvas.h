#pragma once

#include <QFont>
#include <QHash>
#include <QImage>
#include <QRect>
#include <QRgb>
#include <QStaticText>
#include <QString>

#include <algorithm>

class QPainter;

namespace bubblescope::gui {

/// [left, right) × [top, bottom), in device pixels.
struct PixelBox {
    int left = 0;
    int top = 0;
    int right = 0;
    int bottom = 0;
};

/// Writes opaque rectangles directly into an image, because a frame may have tens of thousands of them, and a
/// QPainter's overhead per rectangle exceeds the cost of drawing. Coordinates are logical pixels from the plot's
/// corner; everything is clipped to the plot. May be used while a painter is active on the same image. Rectangles that
/// do not overlap may be written by several threads.
class PixelCanvas {
public:
    /// `image` must have 32 bits per pixel. It must outlive the canvas, and must not be copied during that time.
    PixelCanvas(QImage& image, const QRect& plot, double device_pixel_ratio);

    void fill(const QRectF& rect, QRgb colour);
    /// A box in device pixels from the plot's corner.
    void fillDevice(PixelBox box, QRgb colour) {
        clip(box);
        for (int y = box.top; y < box.bottom; ++y) {
            QRgb* const pixels = line(y);
            for (int x = box.left; x < box.right; ++x) // usually one pixel
                pixels[x] = colour;
        }
    }
    /// Fills with a tile of 32 bits per pixel, aligned to the plot's corner.
    void fillTiled(const QRectF& rect, const QImage& tile);
    void fillTiledDevice(PixelBox box, const QImage& tile);

    /// Converts a logical coordinate to device pixels from the plot's edge.
    [[nodiscard]] int device(double logical) const {
        // Rounds like std::lround() within the plot, but without a function call.
        const double up = logical * ratio_ + 0.5;
        const int cut = static_cast<int>(up);
        return cut - static_cast<int>(static_cast<double>(cut) > up);
    }
    /// The rectangle in device pixels from the plot's corner.
    [[nodiscard]] PixelBox boxOf(const QRectF& rect) const {
        return {device(rect.left()), device(rect.top()), device(rect.right()), device(rect.bottom())};
    }

    /// Width of the plot, in device pixels.
    [[nodiscard]] int width() const { return width_; }
    [[nodiscard]] int height() const { return height_; }
    /// The first pixel of a line of device pixels in the plot.
    [[nodiscard]] QRgb* line(int y) { return reinterpret_cast<QRgb*>(plot_ + y * stride_); }

private:
    void clip(PixelBox& box) const {
        box.left = std::max(box.left, 0);
        box.top = std::max(box.top, 0);
        box.right = std::min(box.right, width_);
        box.bottom = std::min(box.bottom, height_);
    }

    uchar* plot_; ///< its upper left pixel
    qsizetype stride_;
    double ratio_;
    int width_; ///< width of the plot
    int height_;
};

/// A cache of short texts laid out in one font. Layout takes ten times as long as drawing, and panning draws the same
/// names in every frame.
class LabelCache {
public:
    /// Clears the cache if the font has changed.
    void setFont(const QFont& font);
    [[nodiscard]] const QFont& font() const { return font_; }

    /// Draws one line, centred in `box` or at its left end. The painter must use the same font.
    void draw(QPainter& painter, const QRectF& box, const QString& text, bool centred = true);
    [[nodiscard]] qsizetype size() const { return texts_.size(); }

private:
    QFont font_;
    QHash<QString, QStaticText> texts_;
};

} // namespace bubblescope::gui
