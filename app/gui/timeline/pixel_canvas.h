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

/// Writes opaque rectangles directly into an image. A frame may have tens of thousands of rectangles, and the overhead
/// of QPainter per rectangle exceeds the cost of filling it. Coordinates are logical pixels from the top left corner of
/// the plot; everything is clipped to the plot. May be used while a painter is active on the same image. Several
/// threads may write rectangles that do not overlap.
class PixelCanvas {
public:
    /// `image` must have 32 bits per pixel, outlive the canvas, and not be copied while the canvas exists.
    PixelCanvas(QImage& image, const QRect& plot, double device_pixel_ratio);

    void fill(const QRectF& rect, QRgb colour);
    /// Fills a box in device pixels from the corner of the plot.
    void fillDevice(PixelBox box, QRgb colour) {
        clip(box);
        for (int y = box.top; y < box.bottom; ++y) {
            QRgb* const pixels = line(y);
            for (int x = box.left; x < box.right; ++x) // usually just one pixel
                pixels[x] = colour;
        }
    }
    /// Fills a box with a tile of 32 bits per pixel that is aligned with the corner of the plot.
    void fillTiledDevice(PixelBox box, const QImage& tile);

    /// Converts a logical coordinate to device pixels from the edge of the plot.
    [[nodiscard]] int device(double logical) const {
        // Same result as std::lround() within the plot, but without a function call.
        const double up = logical * ratio_ + 0.5;
        const int cut = static_cast<int>(up);
        return cut - static_cast<int>(static_cast<double>(cut) > up);
    }
    /// Converts a rectangle to device pixels from the corner of the plot.
    [[nodiscard]] PixelBox boxOf(const QRectF& rect) const {
        return {device(rect.left()), device(rect.top()), device(rect.right()), device(rect.bottom())};
    }

    /// Width of the plot, in device pixels.
    [[nodiscard]] int width() const { return width_; }
    [[nodiscard]] int height() const { return height_; }
    /// Pointer to the first pixel of a line of the plot, in device pixels.
    [[nodiscard]] QRgb* line(int y) { return reinterpret_cast<QRgb*>(plot_ + y * stride_); }

private:
    void clip(PixelBox& box) const {
        box.left = std::max(box.left, 0);
        box.top = std::max(box.top, 0);
        box.right = std::min(box.right, width_);
        box.bottom = std::min(box.bottom, height_);
    }

    uchar* plot_; ///< upper left pixel of the plot
    qsizetype stride_;
    double ratio_;
    int width_; ///< width of the plot
    int height_;
};

/// Cache for the layout of short strings in one font. Layout takes ten times as long as drawing, and consecutive frames
/// mostly draw the same names.
class LabelCache {
public:
    /// Clears the cache if the font has changed.
    void setFont(const QFont& font);
    [[nodiscard]] const QFont& font() const { return font_; }

    /// Draws one line of text, centred in `box` or at its left edge. The painter must use the same font.
    void draw(QPainter& painter, const QRectF& box, const QString& text, bool centred = true);
    [[nodiscard]] qsizetype size() const { return texts_.size(); }

private:
    QFont font_;
    QHash<QString, QStaticText> texts_;
};

} // namespace bubblescope::gui
