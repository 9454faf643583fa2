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

/// A bar that stands on the bottom of a lane, [left, right) wide, from `top` down, in one colour.
struct PixelBar {
    int left = 0;
    int right = 0;
    int top = 0; ///< lines below the lane's top
    QRgb colour = 0;
};

/// Writes opaque rectangles straight into a picture's pixels: a timeline can have tens of thousands of them in a frame,
/// and a painter takes longer to be asked than to draw. Coordinates are logical pixels from the plot's corner; all is
/// clipped to the plot. May be used while a painter is active on the same picture; what does not overlap may be written
/// by several threads at once.
class PixelCanvas {
public:
    /// `image`: 32 bits a pixel; it must outlive the canvas and must not be copied while that is in use.
    PixelCanvas(QImage& image, const QRect& plot, double device_pixel_ratio);

    void fill(const QRectF& rect, QRgb colour);
    /// A rectangle in device pixels from the plot's corner.
    void fillDevice(const QRect& rect, QRgb colour);
    /// Repeats the tile, which has 32 bits a pixel, from the plot's corner on.
    void fillTiled(const QRectF& rect, const QImage& tile);
    /// Bars of one lane; their numbers are device pixels, `left` and `right` from the plot's edge.
    void fillBars(double top, double height, const std::vector<PixelBar>& bars);

    /// Where a logical coordinate lies in device pixels from the plot's edge.
    [[nodiscard]] int device(double logical) const;

private:
    [[nodiscard]] QRect clipped(const QRectF& rect) const; ///< in the picture's pixels
    [[nodiscard]] QRgb* line(int y) const { return reinterpret_cast<QRgb*>(bits_ + y * stride_); }

    uchar* bits_;
    qsizetype stride_;
    double ratio_;
    QRect plot_; ///< in the picture's pixels
};

/// Short texts as they are drawn in one font, laid out once: laying out takes ten times as long as drawing, and panning
/// draws the same names in every frame.
class LabelCache {
public:
    /// Forgets all where the font is another one.
    void setFont(const QFont& font);
    [[nodiscard]] const QFont& font() const { return font_; }

    /// One line, in the middle of `box`, or at its left end. The painter must have this font.
    void draw(QPainter& painter, const QRectF& box, const QString& text, bool centred = true);
    [[nodiscard]] qsizetype size() const { return texts_.size(); }

private:
    QFont font_;
    QHash<QString, QStaticText> texts_;
};

} // namespace bubblescope::gui
