#pragma once

#include "app/gui/timeline/geometry.h"
#include "app/gui/timeline/timeline_painter.h"

#include <span>
#include <vector>

namespace bubblescope::gui {

/// Neighbouring columns of device pixels of a compact row that look the same. From the row's bottom `busy` pixels are
/// filled, then `idle` ones are bubble, and what is left of the height lies in no step.
struct CompactPiece {
    int row = 0;
    int begin = 0; ///< columns, from the plot's left edge
    int end = 0;
    int busy = 0; ///< device pixels
    int idle = 0;
    Role role = Role::Bubble; ///< takes most of the busy time
    int chunk = 0;

    friend bool operator==(const CompactPiece&, const CompactPiece&) = default;
};

/// The visible compact rows, top to bottom and left to right: each column as high as the rank's ops are running in its
/// time. Where there are both, ops and bubbles get a pixel at least. Time grows with the pixels and the logarithm of
/// the spans. Empty where rows are no compact.
[[nodiscard]] std::vector<CompactPiece> buildCompactRows(const GeometryInput& input);

/// Draws the ops and bubbles of thin rows, and their names, of which as many are shown as there is room for.
class CompactRowPainter {
public:
    CompactRowPainter(QPainter& painter, const TimelineFrame& frame);

    void paint(const std::vector<CompactPiece>& pieces);
    /// In the header, `column` of it.
    void paintNames(const QRect& column);

private:
    void paint(const std::vector<CompactPiece>& pieces, PixelCanvas& pixels);
    void paintRow(std::span<const CompactPiece> pieces, PixelCanvas& pixels) const;
    void paintShare(int row, const QRect& area);

    QPainter& p_;
    const TimelineFrame& f_;
    QFont small_;
};

/// Every how many rows of that height a name of so many pixels fits: 1, 2, 4, 8 and so on.
[[nodiscard]] int nameEvery(int row_height, int name_height);

} // namespace bubblescope::gui
