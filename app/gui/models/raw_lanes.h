#pragma once

#include "app/gui/models/depth_rows.h"
#include "app/gui/models/item.h"
#include "core/analysis/clocks/run_clocks.h"
#include "core/trace/pyramid.h"

#include <QString>

#include <memory>
#include <span>
#include <vector>

namespace bubblescope::gui {

/// A track of the trace: a host thread, a stream of a device, or a transfer lane. If there is a pipeline, it is shown
/// below its rank's ops.
struct RawLane {
    TrackId track = 0;
    QString title; ///< as in the trace; may be empty
    std::int64_t number = 0;
    bool device = false;
    int depth = 1;                            ///< number of levels of its stacks, and of its rows when unfolded
    ClockFit clock;                           ///< converts between the slices' clock and the views' reference clock
    std::vector<std::uint32_t> instants = {}; ///< positions in Trace::instants(), by time

    /// The lane's name in the language of the app.
    [[nodiscard]] QString name() const;

    /// Converts an interval from the views' clock to the lane's; the next function converts it back.
    [[nodiscard]] TimeRange toLaneTime(const TimeRange& range) const;
    [[nodiscard]] TimeRange toViewTime(const TimeRange& range) const;
};

/// The content of one row of a raw lane: the slices of one depth, or all slices if the lane has a single row. Times are
/// on the lane's clock. Refers to the RawLanes that created it.
class SliceRow {
public:
    static constexpr int kAll = -1;

    SliceRow(const Pyramid& pyramid, const DepthRows& depths, TrackId track, int depth)
        : pyramid_(pyramid), depths_(depths), track_(track), depth_(depth) {}

    /// True if all depths are in this row.
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

/// The line that these tracks belong to, and their clock.
struct LineTracks {
    std::vector<TrackId> tracks;
    ClockFit clock;
};

/// The raw lanes of all lines, with the data needed to draw them at any zoom. Immutable.
class RawLanes {
public:
    RawLanes() = default;
    /// `lines` has one entry per line. Ranks of one process may have the same tracks. Errors: Cancelled.
    [[nodiscard]] static Result<RawLanes> build(std::shared_ptr<const Trace> trace,
                                                const std::vector<LineTracks>& lines, const JobControl& control);

    /// The raw lanes of a line, devices first.
    [[nodiscard]] const std::vector<RawLane>& of(int line) const;
    [[nodiscard]] bool any() const { return pyramid_ != nullptr; }
    /// A row of a lane that is shown in `rows` rows. Requires any().
    [[nodiscard]] SliceRow row(const RawLane& lane, int row, int rows) const {
        return {*pyramid_, depths_, lane.track, rows > 1 ? row : SliceRow::kAll};
    }
    /// The row of a slice in its lane, if the lane is unfolded.
    [[nodiscard]] int depthOf(TrackId track, SliceId slice) const { return depths_.depthOf(track, slice); }
    /// The slice after (1) or before (−1) the given one in its row; kNoId if there is none.
    [[nodiscard]] SliceId neighbour(SliceId slice, int direction) const;
    /// The lane of a slice's track on a line; null if the line does not have it.
    [[nodiscard]] const RawLane* laneOf(int line, TrackId track) const;
    /// The first line that has a track; −1 if there is none.
    [[nodiscard]] int lineOf(TrackId track) const;
    /// Busy fraction of the devices, or of all lanes if there is no device, relative to the busiest bin. Linear in the
    /// bins.
    [[nodiscard]] std::vector<float> density(const TimeRange& range, std::size_t bins) const;

private:
    void addInstants();

    std::shared_ptr<const Trace> trace_;
    std::vector<std::vector<RawLane>> lines_;
    std::vector<int> line_of_track_;
    std::shared_ptr<const Pyramid> pyramid_;
    DepthRows depths_;
};

} // namespace bubblescope::gui
