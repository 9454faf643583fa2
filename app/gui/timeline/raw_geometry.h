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

/// Cache for the pixel columns of raw lanes, most of which do not change when the view is panned. Columns are on a grid
/// that depends only on the zoom. The drawing can therefore be off by half a pixel, but does not depend on previous
/// frames.
class ColumnCache {
public:
    struct Lane {
        TimeNs length{0};       ///< length of the visible range
        std::int64_t first = 0; ///< grid index of the first visible column
        std::vector<Pyramid::Column> columns;
        bool used = false; ///< true if used in this frame
    };

    /// Columns of a track's row on a line (ranks of one process can share tracks). The reference is valid until the
    /// next frame.
    [[nodiscard]] Lane& of(int line, TrackId track, int depth = 0);
    /// Updates a row by reading only the missing columns. Different threads may update different rows.
    static void update(const SliceRow& row, const TimeRange& range, std::size_t pixels, Lane& lane);
    /// Removes lanes that were not used in this frame.
    void endFrame();
    /// Must be called when the trace changes.
    void clear() { lanes_.clear(); }

private:
    std::map<std::tuple<int, TrackId, int>, Lane> lanes_; ///< by line, track and depth
};

/// A rectangle in a lane of slices: either a slice, or adjacent pixels with the same dominant name, filled in
/// proportion to the busy time.
struct SliceShape {
    QRectF rect;
    StringId name = 0;
    SliceId slice = kNoId; ///< kNoId for pixels
    QString label;         ///< text that fits into the rectangle; may be empty
};

/// Adjacent pixel columns of a lane with the same dominant name and the same busy time.
struct ColumnRun {
    int begin = 0; ///< device pixels from the left edge of the lane
    int end = 0;
    int height = 0; ///< logical pixels from the bottom of the lane
    StringId name = 0;
};

/// Content of a row of a lane, from left to right: either slices or pixels.
struct LaneShapes {
    double top = 0; ///< top of the row in the plot
    std::vector<SliceShape> slices;
    std::vector<ColumnRun> columns;
};

/// Rounds a position to the nearest edge of a device pixel inside the plot.
[[nodiscard]] double snapToPixel(double x, double width, double device_pixel_ratio);

/// Shape of a slice, aligned with device pixels inside a plot of the given width and at least one pixel wide. If there
/// is space, the shape has the elided name of the slice as its label.
[[nodiscard]] SliceShape sliceShape(const Trace& trace, SliceId slice, const QRectF& place, double plot_width,
                                    double device_pixel_ratio, const TextSize& text_size);

/// Calls `visit(slice, level)` for slices in order of start time, outer slices first. `level` is the number of
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

/// The visible raw lanes of unfolded rows, with one row of slices per depth of their stacks. Lanes are read when their
/// row is drawn. The input must outlive the object.
class RawRows {
public:
    explicit RawRows(const GeometryInput& input);
    ~RawRows();
    RawRows(const RawRows&) = delete;
    RawRows& operator=(const RawRows&) = delete;

    /// Reads the lanes of a row, and calls `write` for those that are drawn as pixels. The argument of `write` is valid
    /// only during the call. Linear in the number of pixels, independent of the trace size. May be called by any
    /// thread, but not concurrently for the same row.
    void read(int row, const std::function<void(const LaneShapes&)>& write);
    /// The lanes read so far that are drawn as slices, with labels. GUI thread only (font metrics). Call only once.
    [[nodiscard]] std::vector<LaneShapes> slices();
    /// Content of all rows, from top to bottom. GUI thread only. Call only once.
    [[nodiscard]] std::vector<LaneShapes> all();

private:
    class Reader;

    std::vector<Reader> lanes_;     ///< one for each row of slices
    std::vector<std::size_t> ends_; ///< number of lanes in each row and all rows above it
};

/// Returns RawRows::all() for the input.
[[nodiscard]] std::vector<LaneShapes> buildRawShapes(const GeometryInput& input);

/// Slice at a point in the plot; the innermost if there are several in one row. Slices within `slack` pixels also
/// match.
[[nodiscard]] ItemRef rawHitTest(const GeometryInput& input, double x, double y, double slack = 2);

/// Rectangle of a slice in its lane; empty if the slice is not visible or if its line is folded.
[[nodiscard]] QRectF rawItemRect(const GeometryInput& input, const ItemRef& item);

/// Raw lane at position `lane` in a row.
[[nodiscard]] inline const RawLane& laneAt(const Session& session, const RowLayout& rows, int row, int lane) {
    return session.raw.of(rows.rawLineAt(row))[static_cast<std::size_t>(rows.rawLane(row, lane))];
}

/// A visible lane.
struct LanePlace {
    const RawLane& lane;
    TimeScale scale; ///< scale for times on the clock of the lane
    double top = 0;  ///< position in the plot
    double height = 0;
};
[[nodiscard]] std::vector<LanePlace> lanesInSight(const GeometryInput& input);

/// Positions of all pixels that contain at least one of the times. `time` returns the time of an element of `list`,
/// which must be sorted by time.
template <class List, class Time>
std::vector<double> pixelsWith(const TimeScale& scale, const List& list, const Time& time) {
    std::vector<double> out;
    auto at = std::ranges::lower_bound(list, scale.range.begin, {}, time);
    while (at != std::ranges::end(list) && time(*at) < scale.range.end) {
        const double x = std::floor(scale.x(time(*at)));
        out.push_back(x);
        // Requires one search per pixel, regardless of the number of times in the pixel.
        const TimeNs next = std::max(scale.time(x + 1), time(*at) + TimeNs{1});
        at = std::ranges::lower_bound(at, std::ranges::end(list), next, {}, time);
    }
    return out;
}

/// Line between the slices at the start and end of an arrow; none if a track has no row. Ends far outside the plot are
/// moved closer to it.
[[nodiscard]] std::optional<QLineF> flowLine(const GeometryInput& input, const SliceFlow& flow);

} // namespace bubblescope::gui
