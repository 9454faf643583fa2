#pragma once

#include "app/gui/plain/plain_trace.h"
#include "app/gui/timeline/raw_geometry.h"
#include "app/gui/timeline/time_axis.h"

#include <QLineF>
#include <QRectF>
#include <QString>

#include <optional>
#include <vector>

namespace bubblescope::gui {

/// Which processes and lanes are folded. Processes show nothing then, lanes a single level.
struct PlainFolds {
    std::vector<int> processes; ///< ascending
    std::vector<int> lanes;     ///< ascending

    [[nodiscard]] bool hasProcess(int process) const;
    [[nodiscard]] bool hasLane(int lane) const;
    void turnProcess(int process);
    void turnLane(int lane);
    friend bool operator==(const PlainFolds&, const PlainFolds&) = default;
};

/// A row of a plain trace, in logical pixels from the top of the first row: the header of a process, or a lane.
struct PlainRow {
    int process = 0;
    int lane = -1; ///< −1 for a header
    int top = 0;
    int height = 0;
    int levels = 1; ///< of nested slices that have room of their own

    [[nodiscard]] bool header() const { return lane < 0; }
};

class PlainLayout {
public:
    static constexpr int kHeaderHeight = 22;
    static constexpr int kLevelHeight = 16; ///< with a gap of one
    static constexpr int kLaneMargin = 3;
    static constexpr int kCounterHeight = 34;

    PlainLayout() = default;
    PlainLayout(const PlainTrace& trace, const PlainFolds& folds);

    [[nodiscard]] const std::vector<PlainRow>& rows() const { return rows_; }
    [[nodiscard]] int contentHeight() const { return rows_.empty() ? 0 : rows_.back().top + rows_.back().height; }
    /// −1 outside.
    [[nodiscard]] int rowAt(int y) const;
    /// The row of a lane, or the header of its folded process.
    [[nodiscard]] int rowOf(int lane) const { return row_of_lane_[static_cast<std::size_t>(lane)]; }

private:
    std::vector<PlainRow> rows_;
    std::vector<int> row_of_lane_;
};

struct PlainInput {
    const PlainTrace& trace;
    TimeScale scale;
    const PlainLayout& layout;
    int scroll = 0;
    int height = 0; ///< of the visible part
    double device_pixel_ratio = 1;
    TextSize text_size;

    [[nodiscard]] bool sees(const PlainRow& row) const {
        return row.top - scroll < height && row.top + row.height - scroll > 0;
    }
};

/// The visible slices. Time grows with the pixels, independent of the trace.
[[nodiscard]] std::vector<SliceShape> buildPlainShapes(const PlainInput& input);

/// The slice at a point of the plot, at its level; slices within `slack` pixels count too. kNoId if there is none.
[[nodiscard]] SliceId plainHit(const PlainInput& input, double x, double y, double slack = 2);

/// The rectangle of a slice; if it is folded away, on its lane or process. Not clipped to the plot in time. Empty for
/// slices without a lane.
[[nodiscard]] QRectF plainRect(const PlainInput& input, SliceId slice);

/// Pixels with one height of a counter lane.
struct PlainCounterShape {
    QRectF rect;
    int lane = 0;
};
/// The largest value of each pixel. Linear in the visible values.
[[nodiscard]] std::vector<PlainCounterShape> buildPlainCounters(const PlainInput& input);

/// A mark at the pixels in which one of `slices` (ascending) begins, one per pixel and lane.
struct PlainMark {
    int row = 0;
    double x = 0;
};
[[nodiscard]] std::vector<PlainMark> buildPlainMarks(const PlainInput& input, const std::vector<SliceId>& slices);

/// A line from the end of the slice where a flow begins to the begin of the one where it ends.
[[nodiscard]] std::optional<QLineF> plainArrow(const PlainInput& input, const PlainFlow& flow);

} // namespace bubblescope::gui
