#pragma once

#include "app/gui/timeline/compact_row.h"
#include "app/gui/timeline/role_fills.h"
#include "app/gui/timeline/row_shapes.h"
#include "app/gui/timeline/timeline_painter.h"

#include <functional>
#include <vector>

namespace bubblescope::gui {

/// Draws the background of the plot, and the ops, transfers and raw lanes of the rows. For images, rows are drawn in
/// parallel on all cores. In vector formats, RawPainter draws the raw lanes.
class RowPainter {
public:
    RowPainter(QPainter& painter, const TimelineFrame& frame);

    /// Calls `beside` on this thread to draw outside the plot. Other threads draw the rows of an image meanwhile.
    void paint(const std::function<void()>& beside = [] {});
    /// Part of a bubble that ops do not cover, where the label is placed.
    [[nodiscard]] static TimelineShape clearOf(const TimelineShape& bubble, const std::vector<TimelineShape>& shapes);

private:
    /// A range of lines of the plot, in logical pixels.
    struct Lines {
        int begin = 0;
        int end = 0;
        int row = -1; ///< row that contains the lines
    };
    [[nodiscard]] std::vector<Lines> divided() const;
    /// Calls `fill(rect, colour)` for rows, ticks and separators within these lines.
    template <class Fill>
    void layGround(const Lines& lines, const Fill& fill) const;
    /// Data read by the threads that draw rows.
    struct Sources {
        FullRows full;
        StackRows compact;
        RoleFills fills;
    };
    void writeFullRow(int row, const Sources& from, PixelCanvas& pixels, std::vector<TimelineShape>& large) const;
    void paintPixels(PixelCanvas& pixels, const std::function<void()>& beside);
    void paintLabels(const std::vector<TimelineShape>& shapes);
    [[nodiscard]] bool rowsTouch() const;
    void fillShape(const TimelineShape& shape);
    void fillStack(const StackPiece& piece, const RoleFills& fills);
    void paintLabel(const TimelineShape& shape);
    [[nodiscard]] QRectF bodyOf(const TimelineShape& shape) const;
    [[nodiscard]] QColor colourOf(const TimelineShape& shape) const;

    QPainter& p_;
    const TimelineFrame& f_;
    std::vector<double> ticks_;
    std::vector<double> edges_; ///< positions of the edges between steps
};

} // namespace bubblescope::gui
