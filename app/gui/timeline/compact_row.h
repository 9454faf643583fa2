#pragma once

#include "app/gui/timeline/column_shares.h"
#include "app/gui/timeline/geometry.h"
#include "app/gui/timeline/role_fills.h"
#include "app/gui/timeline/timeline_painter.h"

#include <vector>

namespace bubblescope::gui {

/// Rows that are drawn as stacks. Each row is computed only when it is drawn, because a full screen can have 100,000
/// pieces. The input must outlive the object.
class StackRows {
public:
    /// The visible compact rows. At every zoom, each pixel column shows the shares of the rank's activities during that
    /// time. Empty unless rows are compact.
    [[nodiscard]] static StackRows compact(const GeometryInput& input);
    /// Strips that show, in the header of a folded group, the mean of the group's lines. In wide views of large groups,
    /// strips are computed for several pixels at a time.
    [[nodiscard]] static StackRows strips(const GeometryInput& input);

    /// From top to bottom.
    [[nodiscard]] const std::vector<int>& rows() const { return rows_; }
    /// Replaces `pieces` with the pieces of a row, from left to right. Linear in the number of pixels, logarithmic in
    /// the number of spans. Any thread.
    void build(int row, std::vector<StackPiece>& pieces) const;
    /// The pieces of all rows.
    [[nodiscard]] std::vector<StackPiece> pieces() const;
    /// Computes a row and draws its pieces. Any thread.
    void write(int row, const RoleFills& fills, PixelCanvas& pixels) const;

private:
    /// Vertical position of the stacks in a row, in logical pixels from the top of the row.
    struct Band {
        int top = 0;
        int height = 0;
    };
    StackRows(const GeometryInput& input, std::vector<int> rows, Band band);

    const GeometryInput& input_;
    Band band_;
    std::vector<TimeNs> borders_; ///< times between the columns
    std::vector<int> rows_;
};
/// Vertical position of the strip in a folded header, in logical pixels from the top of the header.
inline constexpr int kStripTop = 3;
inline constexpr int kStripHeight = RowLayout::kGroupHeight - 7;

/// Draws strips, as many row names as fit, and, in vector formats, the ops and bubbles of compact rows. For images,
/// RowPainter draws these ops and bubbles.
class CompactRowPainter {
public:
    CompactRowPainter(QPainter& painter, const TimelineFrame& frame);

    void paint();
    void paintStrips();
    /// Draws the names in `column`, which is part of the header.
    void paintNames(const QRect& column);

private:
    void paint(const StackRows& stacks);
    void write(const StackRows& stacks, PixelCanvas& pixels) const;
    void paintBusyBar(int row, const QRect& area);

    QPainter& p_;
    const TimelineFrame& f_;
    QFont small_;
};

/// Interval between displayed names for these heights, in rows: 1, 2, 4, 8 and so on.
[[nodiscard]] int nameEvery(int row_height, int name_height);

} // namespace bubblescope::gui
