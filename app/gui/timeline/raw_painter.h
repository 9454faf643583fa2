#pragma once

#include "app/gui/timeline/pixel_canvas.h"
#include "app/gui/timeline/raw_geometry.h"
#include "app/gui/timeline/timeline_painter.h"

#include <QColor>

#include <vector>

namespace bubblescope::gui {

/// Colour of all slices with a given name, from a set of muted tones.
[[nodiscard]] QColor rawColour(const Theme& theme, StringId name);

/// Draws raw lanes into the plot, without their names.
class RawPainter {
public:
    RawPainter(QPainter& painter, const TimelineFrame& frame) : p_(painter), f_(frame) {}

    /// Draws lanes in vector formats, where the pixels of a lane are embedded as an image.
    void paint(const std::vector<LaneShapes>& lanes);
    /// Writes the pixels of a lane into an image. Any thread.
    void write(const LaneShapes& lane, PixelCanvas& pixels) const { writeColumns(lane.columns, pixels, lane.top); }
    /// Draws slices with their labels.
    void paintSlices(const std::vector<LaneShapes>& lanes);
    /// Draws small marks above lanes at instants and at the starts of `marked` slices, which must be ascending.
    void paintMarks(const std::vector<SliceId>& marked);

private:
    void paintColumns(const LaneShapes& lane);
    void writeColumns(const std::vector<ColumnRun>& columns, PixelCanvas& pixels, double top) const;
    void paintSlices(const LaneShapes& lane);
    [[nodiscard]] QRgb colourOf(StringId name) const;
    template <class Paint>
    void inPlot(const Paint& paint);

    QPainter& p_;
    const TimelineFrame& f_;
};

} // namespace bubblescope::gui
