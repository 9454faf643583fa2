#pragma once

#include "app/gui/timeline/strip_geometry.h"
#include "app/gui/timeline/timeline_painter.h"

#include <span>

namespace bubblescope::gui {

/// Draws the ops and bubbles of thin rows, and their names, of which as many are shown as there is room for.
class StripPainter {
public:
    StripPainter(QPainter& painter, const TimelineFrame& frame);

    void paint(const std::vector<StripPiece>& pieces);
    /// In the header, `column` of it.
    void paintNames(const QRect& column);

private:
    void paint(const std::vector<StripPiece>& pieces, PixelCanvas& pixels);
    void paintRow(std::span<const StripPiece> pieces, PixelCanvas& pixels) const;
    void paintShare(int row, const QRect& area);

    QPainter& p_;
    const TimelineFrame& f_;
    QFont small_;
};

/// Every how many rows of that height a name of so many pixels fits: 1, 2, 4, 8 and so on.
[[nodiscard]] int nameEvery(int row_height, int name_height);

} // namespace bubblescope::gui
