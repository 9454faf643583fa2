#pragma once

#include "app/gui/models/lanes.h"
#include "app/gui/models/time_range.h"
#include "core/analysis/clocks/run_clocks.h"
#include "core/base/job.h"
#include "core/recognise/run.h"
#include "core/trace/pyramid.h"

#include <QString>

#include <memory>
#include <vector>

namespace bubblescope::gui {

/// A row of the trace below a rank's ops: a host thread, a stream of the device, a lane of transfers.
struct RawLane {
    TrackId track = 0;
    QString name;
    bool device = false;
    ClockFit clock; ///< its slices' times are by this clock, the views' are the reference's

    /// A stretch of the views' time by the lane's clock, and back.
    [[nodiscard]] TimeRange own(const TimeRange& range) const;
    [[nodiscard]] TimeRange shown(const TimeRange& range) const;
};

/// The raw rows of all ranks with what it takes to draw them at any zoom. Immutable.
class RawLanes {
public:
    RawLanes() = default;
    /// `lanes` say which line is whose. Errors: Cancelled. Empty where the run has no trace.
    [[nodiscard]] static Result<RawLanes> build(const Run& run, const RunClocks& clocks, const Lanes& lanes,
                                                const JobControl& control);

    /// Of a line; devices first, then by name.
    [[nodiscard]] const std::vector<RawLane>& of(int line) const;
    /// How many of them are a device's.
    [[nodiscard]] int devicesOf(int line) const;
    [[nodiscard]] bool any() const { return pyramid_ != nullptr; }
    /// Only where any().
    [[nodiscard]] const Pyramid& pyramid() const { return *pyramid_; }
    /// The lane of a slice on a line; null for a slice of another one.
    [[nodiscard]] const RawLane* laneOf(int line, TrackId track) const;

private:
    std::vector<std::vector<RawLane>> lines_;
    std::shared_ptr<const Pyramid> pyramid_;
};

} // namespace bubblescope::gui
