#pragma once

#include <QFont>
#include <QHash>
#include <QImage>
#include <QRect>
#include <QRgb>
#include <QStaticText>
#include <QString>

#include <vector>

class QPainter;

namespace bubblescope::gui {

/// A bar from `top` to the bottom of a lane, [left, right) wide, in one colour.
struct PixelBar {
    int left = 0;
    int right = 0;
    int top = 0; ///< lines from the lane's top
    QRgb colour = 0;
};

/// Writes opaque rectangles directly into an image: a frame may have tens of thousands of them, and a QPainter's
/// overhead per rectangle exceeds the drawing itself. Coordinates are logical pixels from the plot's corner; everything
/// is clipped to the plot. May be used while a painter is active on the same image. Rectangles that do not overlap may
/// be written by several threads.
class PixelCanvas {
public:
    /// `image` has 32 bits per pixel. It must outlive the canvas and must not be copied meanwhile.
    PixelCanvas(QImage& image, const QRect& plot, double device_pixel_ratio);

    void fill(const QRectF& rect, QRgb colour);
    /// A rectangle in device pixels from the plot's corner.
    void fillDevice(const QRect& rect, QRgb colour);
    /// Fills with a tile of 32 bits per pixel, aligned to the plot's corner.
    void fillTiled(const QRectF& rect, const QImage& tile);
    void fillTiledDevice(const QRect& rect, const QImage& tile);
    /// Bars of one lane in device pixels; `left` and `right` count from the plot's edge.
    void fillBars(double top, double height, const std::vector<PixelBar>& bars);

    /// Converts a logical coordinate to device pixels from the plot's edge.
    [[nodiscard]] int device(double logical) const;

private:
    [[nodiscard]] QRect clipped(const QRectF& rect) const; ///< in pixels of the image
    [[nodiscard]] QRgb* line(int y) const { return reinterpret_cast<QRgb*>(bits_ + y * stride_); }

    uchar* bits_;
    qsizetype stride_;
    double ratio_;
    QRect plot_; ///< in pixels of the image
};

/// A cache of short texts laid out in one font: layout takes ten times as long as drawing, and panning draws the same
/// names in every frame.
class LabelCache {
public:
    /// Clears the cache if the font has changed.
    void setFont(const QFont& font);
    [[nodiscard]] const QFont& font() const { return font_; }

    /// Draws one line, centred in `box` or at its left end. The painter must use this font.
    void draw(QPainter& painter, const QRectF& box, const QString& text, bool centred = true);
    [[nodiscard]] qsizetype size() const { return texts_.size(); }

private:
    QFont font_;
    QHash<QString, QStaticText> texts_;
};

} // namespace bubblescope::gui
