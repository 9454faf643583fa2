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

/// A track of the trace: a host thread, a stream of a device, or a transfer lane. In traces with a pipeline, the track
/// is shown below the ops of its rank.
struct RawLane {
    TrackId track = 0;
    QString title; ///< title of the track in the trace; may be empty
    std::int64_t number = 0;
    bool device = false;
    int depth = 1;                            ///< maximum nesting depth of the slices, and number of rows when unfolded
    ClockFit clock;                           ///< converts between the clock of the slices and the clock of the views
    std::vector<std::uint32_t> instants = {}; ///< indices in Trace::instants(), sorted by time

    /// Name of the lane in the app's language.
    [[nodiscard]] QString name() const;

    /// Converts an interval from the clock of the views to the clock of the lane. The next function does the reverse.
    [[nodiscard]] TimeRange toLaneTime(const TimeRange& range) const;
    [[nodiscard]] TimeRange toViewTime(const TimeRange& range) const;
};

/// Content of one row of a raw lane: the slices of one depth, or all slices if the lane has a single row. Times are on
/// the clock of the lane. The RawLanes object that created the row must outlive it.
class SliceRow {
public:
    static constexpr int kAll = -1;

    SliceRow(const Pyramid& pyramid, const DepthRows& depths, TrackId track, int depth)
        : pyramid_(pyramid), depths_(depths), track_(track), depth_(depth) {}

    /// True if the row contains slices of all depths.
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

/// Line that these tracks belong to, and their clock.
struct LineTracks {
    std::vector<TrackId> tracks;
    ClockFit clock;
};

/// Raw lanes of all lines, with indices for drawing at any zoom. Immutable.
class RawLanes {
public:
    RawLanes() = default;
    /// `lines` has one entry per line. Ranks of the same process may share tracks. Errors: Cancelled.
    [[nodiscard]] static Result<RawLanes> build(std::shared_ptr<const Trace> trace,
                                                const std::vector<LineTracks>& lines, const JobControl& control);

    /// Raw lanes of a line, devices first.
    [[nodiscard]] const std::vector<RawLane>& of(int line) const;
    [[nodiscard]] bool any() const { return pyramid_ != nullptr; }
    /// The row with index `row` of a lane that is shown as `rows` rows. Requires any().
    [[nodiscard]] SliceRow row(const RawLane& lane, int row, int rows) const {
        return {*pyramid_, depths_, lane.track, rows > 1 ? row : SliceRow::kAll};
    }
    /// Row of a slice within its lane if the lane is unfolded.
    [[nodiscard]] int depthOf(TrackId track, SliceId slice) const { return depths_.depthOf(track, slice); }
    /// Slice after (1) or before (−1) the given slice in the same row; kNoId if there is none.
    [[nodiscard]] SliceId neighbour(SliceId slice, int direction) const;
    /// Lane of a track on a line; null if the line does not contain the track.
    [[nodiscard]] const RawLane* laneOf(int line, TrackId track) const;
    /// First line that contains a track; −1 if there is none.
    [[nodiscard]] int lineOf(TrackId track) const;
    /// Busy fraction per bin, of the devices or (if there are none) of all lanes, relative to the busiest bin. Linear
    /// in the number of bins.
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
