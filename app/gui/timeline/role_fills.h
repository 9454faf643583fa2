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

/// Fills a rectangle with the hatching of idle time, sharp at any device pixel ratio; in vector formats with lines.
void fillHatched(QPainter& painter, const QRectF& rect, const Theme& theme, double device_pixel_ratio);
[[nodiscard]] QPixmap hatchTile(const Theme& theme, double device_pixel_ratio);

/// The fills of ops, bubbles and transfers, looked up only once per frame, which has tens of thousands of them. Create
/// it on the GUI thread; any thread may use it. `theme` must outlive it.
class RoleFills {
public:
    /// `chunks` is the schedule's number of chunks.
    RoleFills(const Theme& theme, int chunks, double device_pixel_ratio);

    /// Bubbles are hatched.
    void fill(PixelCanvas& pixels, PixelBox box, Role role, int chunk) const {
        if (role == Role::Bubble)
            pixels.fillTiledDevice(box, hatch_);
        else
            pixels.fillDevice(box, colour(role, chunk));
    }
    /// Draws the parts of a piece on top of each other, starting at `bottom`, in device pixels from the plot's corner.
    void stack(PixelCanvas& pixels, const StackPiece& piece, int bottom) const;
    /// As above, using a band: it takes the parts that fit, and the rest is filled directly.
    void stack(ColumnBand& band, PixelCanvas& pixels, const StackPiece& piece, int bottom) const;
    /// Draws the parts of a piece mixed into one colour, as high as the band, whose height is `height`. It is used in
    /// low rows, where stacks would look like letters.
    void blend(ColumnBand& band, PixelCanvas& pixels, const StackPiece& piece, int bottom, int height) const;
    /// Draws a shape as high as the band, either on top of the band or by filling.
    void whole(ColumnBand& band, PixelCanvas& pixels, const PixelBox& box, Role role, int chunk) const;

private:
    [[nodiscard]] QRgb colour(Role role, int chunk) const;
    /// The mean colour of a column of `height`; the rest has the background colour.
    [[nodiscard]] QRgb mixed(const StackPiece& piece, int height) const;

    const Theme& theme_;
    int chunks_;
    QImage hatch_;
    std::array<std::vector<QRgb>, kRoleCount> colours_; ///< by role and chunk + 1; chunk −1 stands for several ops
};

} // namespace bubblescope::gui
