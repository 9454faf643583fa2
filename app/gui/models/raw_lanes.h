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

/// A track of the trace: a host thread, a stream of the device, or a transfer lane. Where there is a pipeline it is
/// shown below its rank's ops.
struct RawLane {
    TrackId track = 0;
    QString title; ///< as the trace has it; may be empty
    std::int64_t number = 0;
    bool device = false;
    int depth = 1;                            ///< number of levels of its stacks: its rows when it is unfolded
    ClockFit clock;                           ///< converts between the slices' clock and the views' reference clock
    std::vector<std::uint32_t> instants = {}; ///< places in Trace::instants(), by time

    /// In the language of the app.
    [[nodiscard]] QString name() const;

    /// Convert an interval from the views' clock to the lane's, and back.
    [[nodiscard]] TimeRange toLaneTime(const TimeRange& range) const;
    [[nodiscard]] TimeRange toViewTime(const TimeRange& range) const;
};

/// The content of one row of a raw lane: the slices of one depth, or all slices if the lane has a single row. Times are
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

/// The line to which these tracks belong, and their clock.
struct LineTracks {
    std::vector<TrackId> tracks;
    ClockFit clock;
};

/// The raw lanes of all lines, with the data needed to draw them at any zoom. Immutable.
class RawLanes {
public:
    RawLanes() = default;
    /// `lines` has an entry for each line. Ranks of one process may have the same tracks. Errors: Cancelled.
    [[nodiscard]] static Result<RawLanes> build(std::shared_ptr<const Trace> trace,
                                                const std::vector<LineTracks>& lines, const JobControl& control);

    /// The raw lanes of a line, devices first.
    [[nodiscard]] const std::vector<RawLane>& of(int line) const;
    [[nodiscard]] bool any() const { return pyramid_ != nullptr; }
    /// A row of a lane that shows `rows` of them. Requires any().
    [[nodiscard]] SliceRow row(const RawLane& lane, int row, int rows) const {
        return {*pyramid_, depths_, lane.track, rows > 1 ? row : SliceRow::kAll};
    }
    /// The row of a slice in its lane, if that is unfolded.
    [[nodiscard]] int depthOf(TrackId track, SliceId slice) const { return depths_.depthOf(track, slice); }
    /// The slice after (1) or before (−1) one on its row; kNoId if there is none.
    [[nodiscard]] SliceId neighbour(SliceId slice, int direction) const;
    /// The lane of a slice's track on a line; null if the line does not have it.
    [[nodiscard]] const RawLane* laneOf(int line, TrackId track) const;
    /// The first line with a track; −1 if there is none.
    [[nodiscard]] int lineOf(TrackId track) const;
    /// How busy the devices are, or all lanes if there is no device, relative to the busiest bin. Linear in the bins.
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
