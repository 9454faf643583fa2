#pragma once

#include "app/gui/timeline/geometry.h"
#include "core/trace/pyramid.h"
#include "core/trace/trace.h"

#include <QLineF>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope::gui {

/// A cache of the pixel columns of raw lanes, most of which do not change when the view is panned. Columns are on a
/// grid that depends only on the zoom, so drawing may be off by half a pixel, but does not depend on what was drawn
/// before.
class ColumnCache {
public:
    struct Lane {
        TimeNs length{0};       ///< length of the visible range
        std::int64_t first = 0; ///< index in the grid of the first visible column
        std::vector<Pyramid::Column> columns;
        bool used = false; ///< true if used in this frame
    };

    /// The columns of a row of a track on a line (ranks of one process show the same tracks). The reference is valid
    /// until the next frame.
    [[nodiscard]] Lane& of(int line, TrackId track, int depth = 0);
    /// Updates a row, reading only the missing columns. Different rows may be updated by different threads.
    static void update(const SliceRow& row, const TimeRange& range, std::size_t pixels, Lane& lane);
    /// Drops lanes that were not used since the last frame.
    void endFrame();
    /// Call it for another trace.
    void clear() { lanes_.clear(); }

private:
    std::map<std::tuple<int, TrackId, int>, Lane> lanes_; ///< by line, track and depth
};

/// A rectangle in a lane of slices: a slice, or adjacent pixels in which the same name takes most of the time, filled
/// in proportion to their busy time.
struct SliceShape {
    QRectF rect;
    StringId name = 0;
    SliceId slice = kNoId; ///< kNoId for pixels
    QString label;         ///< fits the rectangle; may be empty
};

/// Neighbouring columns of pixels of a lane with the same prevailing name and the same busy time.
struct ColumnRun {
    int begin = 0; ///< device pixels from the lane's left end
    int end = 0;
    int height = 0; ///< logical pixels from the bottom
    StringId name = 0;
};

/// The content of a row of a lane, from left to right: either slices or pixels.
struct LaneShapes {
    double top = 0; ///< top of the row
    std::vector<SliceShape> slices;
    std::vector<ColumnRun> columns;
};

/// The position of the nearest edge of a device pixel inside the plot.
[[nodiscard]] double snapToPixel(double x, double width, double device_pixel_ratio);

/// The columns of a lane of that height, which shows `length` of time, as shapes filled in proportion to their busy
/// time.
[[nodiscard]] std::vector<SliceShape> columnShapes(const std::vector<Pyramid::Column>& columns, TimeNs length,
                                                   const QRectF& lane);

/// A slice at a place in a lane, moved to device pixels inside a plot of that width and at least one pixel wide. Its
/// name is the label, elided, if there is space for it.
[[nodiscard]] SliceShape sliceShape(const Trace& trace, SliceId slice, const QRectF& place, double plot_width,
                                    double device_pixel_ratio, const TextSize& text_size);

/// Calls `visit(slice, level)` for slices in the order of their starts, outer slices first; `level` is the number of
/// enclosing slices.
template <class Visit>
void withLevels(const Trace& trace, const std::vector<SliceId>& slices, const Visit& visit) {
    std::vector<TimeNs> ends; // ends of the slices that enclose the next one
    for (const SliceId slice : slices) {
        while (!ends.empty() && ends.back() <= trace.start(slice))
            ends.pop_back();
        visit(slice, static_cast<int>(ends.size()));
        ends.push_back(trace.end(slice));
    }
}

/// The visible raw lanes of unfolded rows, each read when its row is drawn, with one row of slices for each depth of
/// its stacks, at every zoom. Keeps a reference to its input.
class RawRows {
public:
    explicit RawRows(const GeometryInput& input);
    ~RawRows();
    RawRows(const RawRows&) = delete;
    RawRows& operator=(const RawRows&) = delete;

    /// Reads the lanes of a row, and calls `write` for those that show pixels. Its argument is valid only during the
    /// call. Time grows with the number of pixels and does not depend on the trace's size. Any thread, but one row at a
    /// time.
    void read(int row, const std::function<void(const LaneShapes&)>& write);
    /// The lanes already read that show slices, with labels, which need font metrics. GUI thread only; call it once.
    [[nodiscard]] std::vector<LaneShapes> slices();
    /// The content of all rows, from top to bottom. GUI thread only; call it once.
    [[nodiscard]] std::vector<LaneShapes> all();

private:
    class Reader;

    std::vector<Reader> lanes_;     ///< one for each row of slices
    std::vector<std::size_t> ends_; ///< number of lanes in each row and those above it
};

/// RawRows::all().
[[nodiscard]] std::vector<LaneShapes> buildRawShapes(const GeometryInput& input);

/// The slice at a point of the plot; the innermost if there are several in one row. Slices within `slack` pixels also
/// count.
[[nodiscard]] ItemRef rawHitTest(const GeometryInput& input, double x, double y, double slack = 2);

/// The rectangle of a slice in its lane; empty if it is not visible or its line is folded.
[[nodiscard]] QRectF rawItemRect(const GeometryInput& input, const ItemRef& item);

/// A visible lane.
struct LanePlace {
    const RawLane& lane;
    TimeScale scale; ///< scale of the lane's own times
    double top = 0;  ///< in the plot
    double height = 0;
};
[[nodiscard]] std::vector<LanePlace> lanesInSight(const GeometryInput& input);

/// One position for each pixel that contains at least one of the times. `time` returns the time of an element of a list
/// sorted by time.
template <class List, class Time>
std::vector<double> pixelsWith(const TimeScale& scale, const List& list, const Time& time) {
    std::vector<double> out;
    auto at = std::ranges::lower_bound(list, scale.range.begin, {}, time);
    while (at != std::ranges::end(list) && time(*at) < scale.range.end) {
        const double x = std::floor(scale.x(time(*at)));
        out.push_back(x);
        // One search per pixel, however many times lie in it.
        const TimeNs next = std::max(scale.time(x + 1), time(*at) + TimeNs{1});
        at = std::ranges::lower_bound(at, std::ranges::end(list), next, {}, time);
    }
    return out;
}

/// The line between the slices where an arrow begins and ends; none if a track has no row. Ends far outside the plot
/// are moved closer to it.
[[nodiscard]] std::optional<QLineF> flowLine(const GeometryInput& input, const SliceFlow& flow);

} // namespace bubblescope::gui
