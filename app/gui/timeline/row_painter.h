#pragma once

#include "app/gui/timeline/role_fills.h"
#include "app/gui/timeline/row_shapes.h"
#include "app/gui/timeline/timeline_painter.h"

#include <vector>

namespace bubblescope::gui {

/// Draws the plot's ground and what full rows show of ops and transfers: into an image by rows, on all cores.
class RowPainter {
public:
    RowPainter(QPainter& painter, const TimelineFrame& frame);

    void paint();

private:
    /// Lines of the plot, in logical pixels.
    struct Lines {
        int begin = 0;
        int end = 0;
        int row = -1; ///< whose ops and transfers lie in them
    };
    [[nodiscard]] std::vector<Lines> divided(const FullRows& rows) const;
    /// Calls `fill(rect, colour)` for rows, ticks and separators within these lines.
    template <class Fill>
    void layGround(const Lines& lines, const Fill& fill) const;
    [[nodiscard]] std::vector<TimelineShape> fillPixels(PixelCanvas& pixels) const;
    void fillShape(const TimelineShape& shape, const QBrush& hatch);
    void paintLabel(const TimelineShape& shape);
    [[nodiscard]] QRectF bodyOf(const TimelineShape& shape) const;
    [[nodiscard]] QColor colourOf(const TimelineShape& shape) const;

    QPainter& p_;
    const TimelineFrame& f_;
    std::vector<double> ticks_;
    std::vector<double> edges_; ///< of steps
};

} // namespace bubblescope::gui
