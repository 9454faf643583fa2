#pragma once

#include "app/gui/theme/theme.h"
#include "app/gui/timeline/column_band.h"
#include "app/gui/timeline/column_shares.h"
#include "app/gui/timeline/pixel_canvas.h"

#include <QImage>
#include <QPixmap>
#include <QRgb>

#include <array>
#include <vector>

namespace bubblescope::gui {

/// Fills a rectangle with hatching for idle time. Sharp at any pixel ratio; drawn as lines in vector formats.
void fillHatched(QPainter& painter, const QRectF& rect, const Theme& theme, double device_pixel_ratio);
[[nodiscard]] QPixmap hatchTile(const Theme& theme, double device_pixel_ratio);

/// Fills for ops, bubbles and transfers, looked up once per frame because a frame has tens of thousands of shapes. Must
/// be created on the GUI thread, but any thread may use it. `theme` must outlive the object.
class RoleFills {
public:
    /// `chunks` is the number of chunks in the schedule.
    RoleFills(const Theme& theme, int chunks, double device_pixel_ratio);

    /// Bubbles are hatched.
    void fill(PixelCanvas& pixels, PixelBox box, Role role, int chunk) const {
        if (role == Role::Bubble)
            pixels.fillTiledDevice(box, hatch_);
        else
            pixels.fillDevice(box, colour(role, chunk));
    }
    /// Draws the stacked parts of a piece from `bottom` upwards, in device pixels from the corner of the plot.
    void stack(PixelCanvas& pixels, const StackPiece& piece, int bottom) const;
    /// Draws the parts of a piece, blended into one colour, over the full `height` of the band.
    void blend(ColumnBand& band, PixelCanvas& pixels, const StackPiece& piece, int bottom, int height) const;
    /// Draws a shape over the full height of the band: narrow shapes as columns of the band, wide ones directly.
    void whole(ColumnBand& band, PixelCanvas& pixels, const PixelBox& box, Role role, int chunk) const;

    /// Mean colour of a column of `height`, whose empty part has the background colour.
    [[nodiscard]] QRgb mixed(const StackPiece& piece, int height) const;

private:
    [[nodiscard]] QRgb colour(Role role, int chunk) const;

    const Theme& theme_;
    int chunks_;
    QImage hatch_;
    std::array<std::vector<QRgb>, kRoleCount> colours_; ///< by role and chunk + 1; chunk −1 means several ops
};

} // namespace bubblescope::gui
