#pragma once

#include "app/gui/timeline/column_shares.h"
#include "app/gui/timeline/geometry.h"
#include "app/gui/timeline/role_fills.h"
#include "app/gui/timeline/timeline_painter.h"

#include <vector>

namespace bubblescope::gui {

/// Rows drawn as stacks, each computed only when it is drawn, because a screenful of them has a hundred thousand
/// pieces. Keeps a reference to its input.
class StackRows {
public:
    /// The visible compact rows: each column is filled in proportion to the rank's activities during its time, in the
    /// same way at every zoom. None unless rows are compact.
    [[nodiscard]] static StackRows compact(const GeometryInput& input);
    /// The headers of folded groups: means over the group's lines. Wide views of large groups are computed for several
    /// pixels at a time.
    [[nodiscard]] static StackRows strips(const GeometryInput& input);

    /// From top to bottom.
    [[nodiscard]] const std::vector<int>& rows() const { return rows_; }
    /// Replaces `pieces` with those of a row, from left to right. Time grows with the number of pixels and the
    /// logarithm of the number of spans. Any thread.
    void build(int row, std::vector<StackPiece>& pieces) const;
    /// The pieces of all rows.
    [[nodiscard]] std::vector<StackPiece> pieces() const;
    /// Builds a row and writes its pieces. Any thread.
    void write(int row, const RoleFills& fills, PixelCanvas& pixels) const;

private:
    /// The vertical position of the stacks in a row, in logical pixels from its top.
    struct Band {
        int top = 0;
        int height = 0;
    };
    StackRows(const GeometryInput& input, std::vector<int> rows, Band band);

    const GeometryInput& input_;
    Band band_;
    std::vector<TimeNs> borders_; ///< between the columns
    std::vector<int> rows_;
};
/// The strip of a folded header, in logical pixels from the header's top.
inline constexpr int kStripTop = 3;
inline constexpr int kStripHeight = RowLayout::kGroupHeight - 7;

/// Draws the ops and bubbles of compact rows (for vector formats only; RowPainter writes them into images), strips, and
/// as many names as fit.
class CompactRowPainter {
public:
    CompactRowPainter(QPainter& painter, const TimelineFrame& frame);

    void paint();
    void paintStrips();
    /// Draws the names in `column` of the header.
    void paintNames(const QRect& column);

private:
    void paint(const StackRows& stacks);
    void write(const StackRows& stacks, PixelCanvas& pixels) const;
    void paintBusyBar(int row, const QRect& area);

    QPainter& p_;
    const TimelineFrame& f_;
    QFont small_;
};

/// The number of rows per name, given the heights of rows and names: 1, 2, 4, 8 and so on.
[[nodiscard]] int nameEvery(int row_height, int name_height);

} // namespace bubblescope::gui
