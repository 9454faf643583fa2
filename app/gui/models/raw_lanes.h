#pragma once

#include "app/gui/models/depth_rows.h"
#include "app/gui/models/item.h"
#include "app/gui/models/lanes.h"
#include "core/analysis/clocks/run_clocks.h"
#include "core/recognise/run.h"
#include "core/trace/pyramid.h"

#include <QString>

#include <memory>
#include <span>
#include <vector>

namespace bubblescope::gui {

/// A track of the trace shown below a rank's ops: a host thread, a stream of the device, or a transfer lane.
struct RawLane {
    TrackId track = 0;
    QString name;
    bool device = false;
    int depth = 1;  ///< of its stacks: how many rows it has when it is unfolded
    ClockFit clock; ///< converts between the slices' clock and the views' reference clock

    /// Convert an interval from the views' clock to the lane's, and back.
    [[nodiscard]] TimeRange toLaneTime(const TimeRange& range) const;
    [[nodiscard]] TimeRange toViewTime(const TimeRange& range) const;
};

/// What one row of a raw lane holds: the slices of one depth, or all of them where the lane has a single row. Times are
/// the lane's. Refers to the RawLanes that made it.
class SliceRow {
public:
    static constexpr int kAll = -1;

    SliceRow(const Pyramid& pyramid, const DepthRows& depths, TrackId track, int depth)
        : pyramid_(pyramid), depths_(depths), track_(track), depth_(depth) {}

    /// All depths are in this row.
    [[nodiscard]] bool isWhole() const { return depth_ == kAll; }
    void columns(const PixelGrid& grid, std::int64_t first, std::span<Pyramid::Column> out) const;
    [[nodiscard]] std::vector<SliceId> slices(const TimeRange& range) const;
    [[nodiscard]] bool few(const TimeRange& range, std::size_t pixels) const;

private:
    const Pyramid& pyramid_;
    const DepthRows& depths_;
    TrackId track_;
    int depth_;
};

/// The raw lanes of all ranks, with what is needed to draw them at any zoom. Immutable.
class RawLanes {
public:
    RawLanes() = default;
    /// `lanes` assigns lines to ranks. Empty if the run has no trace. Errors: Cancelled.
    [[nodiscard]] static Result<RawLanes> build(const Run& run, const RunClocks& clocks, const Lanes& lanes,
                                                const JobControl& control);

    /// The raw lanes of a line; devices first, then by name.
    [[nodiscard]] const std::vector<RawLane>& of(int line) const;
    [[nodiscard]] bool any() const { return pyramid_ != nullptr; }
    /// A row of a lane that shows `rows` of them. Requires any().
    [[nodiscard]] SliceRow row(const RawLane& lane, int row, int rows) const {
        return {*pyramid_, depths_, lane.track, rows > 1 ? row : SliceRow::kAll};
    }
    /// The row of a slice in its lane, if that is unfolded.
    [[nodiscard]] int depthOf(TrackId track, SliceId slice) const { return depths_.depthOf(track, slice); }
    /// The lane of a slice's track on a line; null if it is not there.
    [[nodiscard]] const RawLane* laneOf(int line, TrackId track) const;

private:
    std::vector<std::vector<RawLane>> lines_;
    std::shared_ptr<const Pyramid> pyramid_;
    DepthRows depths_;
};

} // namespace bubblescope::gui
