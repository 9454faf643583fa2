#pragma once

#include "app/gui/timeline/column_shares.h"
#include "app/gui/timeline/geometry.h"
#include "app/gui/timeline/timeline_painter.h"

#include <QImage>

#include <span>
#include <vector>

namespace bubblescope::gui {

/// Neighbouring columns of device pixels of a compact row that look the same: stacks of what the rank does in them, see
/// kStackOrder. The rest of the height is outside of steps.
struct CompactPiece {
    int row = 0;
    int begin = 0; ///< columns, from the plot's left edge
    int end = 0;
    StackHeights heights{}; ///< device pixels
    int chunk = -1;         ///< of a single op; −1 where there may be several

    [[nodiscard]] int height(Role role) const { return heights[static_cast<std::size_t>(role)]; }
    /// Of all ops; of everything else.
    [[nodiscard]] int busy() const;
    [[nodiscard]] int idle() const;

    friend bool operator==(const CompactPiece&, const CompactPiece&) = default;
};

/// The visible compact rows, top to bottom and left to right: each column is filled in proportion to what the rank does
/// in its time, the same at every zoom. Time grows with the pixels and the logarithm of the
/// spans. Empty unless rows are compact.
[[nodiscard]] std::vector<CompactPiece> buildCompactRows(const GeometryInput& input);

/// The same for the headers of folded groups: means over the group's lines. Wide views of large groups are computed for
/// several pixels at a time.
[[nodiscard]] std::vector<CompactPiece> buildGroupStrips(const GeometryInput& input);
/// The strip of a folded header, in logical pixels from the header's top.
inline constexpr int kStripTop = 3;
inline constexpr int kStripHeight = RowLayout::kGroupHeight - 7;

/// Draws the ops and bubbles of compact rows, and as many of their names as fit.
class CompactRowPainter {
public:
    CompactRowPainter(QPainter& painter, const TimelineFrame& frame);

    void paint(const std::vector<CompactPiece>& pieces);
    void paintStrips(const std::vector<CompactPiece>& pieces);
    /// Draws the names into `column` of the header.
    void paintNames(const QRect& column);

private:
    /// Where the stacks of a row begin and how high they may be, from its top.
    struct Band {
        int top = 0;
        int height = 0;
    };
    void paint(const std::vector<CompactPiece>& pieces, Band band);
    void paint(const std::vector<CompactPiece>& pieces, Band band, PixelCanvas& pixels);
    void paintRow(std::span<const CompactPiece> pieces, Band band, PixelCanvas& pixels) const;
    void paintBusyBar(int row, const QRect& area);

    QPainter& p_;
    const TimelineFrame& f_;
    QFont small_;
    QImage hatch_;
};

/// Every how many rows of this height a name of this height fits: 1, 2, 4, 8 and so on.
[[nodiscard]] int nameEvery(int row_height, int name_height);

} // namespace bubblescope::gui
