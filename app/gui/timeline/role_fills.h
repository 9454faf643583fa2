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

/// Diagonal lines for idle time, sharp at any device pixel ratio.
/// Fills with the hatching of bubbles: with lines in vector formats.
void fillHatched(QPainter& painter, const QRectF& rect, const Theme& theme, double device_pixel_ratio);
[[nodiscard]] QPixmap hatchTile(const Theme& theme, double device_pixel_ratio);

/// The fills of ops, bubbles and transfers, looked up once for a frame that has tens of thousands of them. To be
/// created on the GUI thread; any thread may use it. `theme` must outlive it.
class RoleFills {
public:
    /// `chunks`: of the schedule.
    RoleFills(const Theme& theme, int chunks, double device_pixel_ratio);

    /// Bubbles are hatched.
    void fill(PixelCanvas& pixels, PixelBox box, Role role, int chunk) const {
        if (role == Role::Bubble)
            pixels.fillTiledDevice(box, hatch_);
        else
            pixels.fillDevice(box, colour(role, chunk));
    }
    /// The parts of a piece one upon another from `bottom` on, in device pixels from the plot's corner.
    void stack(PixelCanvas& pixels, const StackPiece& piece, int bottom) const;
    /// As above, with a band: it holds as much as fits, the rest is filled.
    void stack(ColumnBand& band, PixelCanvas& pixels, const StackPiece& piece, int bottom) const;
    /// The parts of a piece mixed into one colour as high as the band, of `height`: in low rows stacks look like
    /// letters.
    void blend(ColumnBand& band, PixelCanvas& pixels, const StackPiece& piece, int bottom, int height) const;
    /// A shape that is as high as the band, upon it or filled.
    void whole(ColumnBand& band, PixelCanvas& pixels, const PixelBox& box, Role role, int chunk) const;

private:
    [[nodiscard]] QRgb colour(Role role, int chunk) const;
    /// The mean colour of a column of `height`; what is left over has the colour of the ground.
    [[nodiscard]] QRgb mixed(const StackPiece& piece, int height) const;

    const Theme& theme_;
    int chunks_;
    QImage hatch_;
    std::array<std::vector<QRgb>, kRoleCount> colours_; ///< by role and chunk + 1: −1 is what several ops share
};

} // namespace bubblescope::gui
