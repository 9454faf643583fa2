#pragma once

#include "app/gui/timeline/geometry.h"
#include "app/gui/timeline/timeline_painter.h"

#include <span>
#include <vector>

namespace bubblescope::gui {

/// Neighbouring columns of device pixels of a compact row that look the same. From the bottom, `busy` pixels are ops
/// and `idle` ones bubble; the rest of the height is outside of steps.
struct CompactPiece {
    int row = 0;
    int begin = 0; ///< columns, from the plot's left edge
    int end = 0;
    int busy = 0; ///< device pixels
    int idle = 0;
    Role role = Role::Bubble; ///< that takes most of the busy time
    int chunk = 0;

    friend bool operator==(const CompactPiece&, const CompactPiece&) = default;
};

/// The visible compact rows, top to bottom and left to right: each column is filled in proportion to the rank's busy
/// time. Ops and bubbles that are present get at least one pixel. Time grows with the pixels and the logarithm of the
/// spans. Empty unless rows are compact.
[[nodiscard]] std::vector<CompactPiece> buildCompactRows(const GeometryInput& input);

/// Draws the ops and bubbles of compact rows, and as many of their names as fit.
class CompactRowPainter {
public:
    CompactRowPainter(QPainter& painter, const TimelineFrame& frame);

    void paint(const std::vector<CompactPiece>& pieces);
    /// Draws the names into `column` of the header.
    void paintNames(const QRect& column);

private:
    void paint(const std::vector<CompactPiece>& pieces, PixelCanvas& pixels);
    void paintRow(std::span<const CompactPiece> pieces, PixelCanvas& pixels) const;
    void paintBusyBar(int row, const QRect& area);

    QPainter& p_;
    const TimelineFrame& f_;
    QFont small_;
};

/// Every how many rows of this height a name of this height fits: 1, 2, 4, 8 and so on.
[[nodiscard]] int nameEvery(int row_height, int name_height);

} // namespace bubblescope::gui
