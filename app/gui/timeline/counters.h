#pragma once

#include "app/gui/models/rows.h"
#include "app/gui/models/session.h"
#include "app/gui/timeline/geometry.h"

#include <QString>

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope::gui {

/// Values of a counter over time. Each value is valid until the time of the next one.
struct CounterValues {
    std::span<const TimeNs> times; ///< ascending
    std::span<const double> values;

    /// Value at a time; 0 before the first value.
    [[nodiscard]] double at(TimeNs time) const;
    /// Maximum in each pixel column of a plot, so that peaks remain visible; NaN before the first value. Linear in the
    /// number of visible values.
    [[nodiscard]] std::vector<double> columnMaxima(const TimeScale& scale, double device_pixel_ratio) const;
};

/// Bars at the bottom of a lane, with one height per pixel column. Adjacent bars of the same height are merged; bars of
/// height 0 are omitted.
[[nodiscard]] std::vector<QRectF> barsOf(const std::vector<double>& heights, double device_pixel_ratio, double bottom);

/// Values of a counter on a line. Times are on the views' clock.
struct CounterLane {
    QString name;
    std::vector<TimeNs> times; ///< see CounterValues
    std::vector<double> values;
    double maximum = 0; ///< the largest value; at least 0
    double minimum = 0; ///< the smallest value; at most 0
    QString maximum_op; ///< for memory: op that runs at the first maximum or starts next; may be empty

    [[nodiscard]] CounterValues over() const { return {times, values}; }
    [[nodiscard]] double at(TimeNs time) const { return over().at(time); }
};

/// Counters of each line: the activations implied by the order of its ops, in units of one forward op, and the counters
/// of its process in the trace. Immutable.
class CounterLanes {
public:
    /// Linear in the number of ops of all ranks and the number of values of all counters. Errors: Cancelled.
    [[nodiscard]] static Result<std::shared_ptr<const CounterLanes>> build(const SessionPtr& session,
                                                                           const JobControl& control);

    using LanePtr = std::shared_ptr<const CounterLane>;
    [[nodiscard]] const std::vector<LanePtr>& of(int line) const;
    /// Returns the counters whose names the filter accepts.
    [[nodiscard]] std::shared_ptr<const CounterLanes> named(const RowFilter& filter) const;

private:
    std::vector<std::vector<LanePtr>> lines_;
};

/// Formats the value of a counter: "3.5", "12.6 M", or "1.50 GiB" for counters whose names suggest bytes. (Traces do
/// not contain units.)
[[nodiscard]] QString counterText(double value, const QString& name);

/// A bar for adjacent pixels of the same height; see barsOf().
struct CounterShape {
    QRectF rect; ///< position in the plot, at the bottom of the lane
    int row = 0;
    int lane = 0;
};

/// The visible counter lanes. Linear in the number of visible values.
[[nodiscard]] std::vector<CounterShape> buildCounterShapes(const GeometryInput& input, const CounterLanes& counters);

/// The counter lane and time at a point in the plot.
struct CounterPlace {
    const CounterLane* lane = nullptr;
    TimeNs time{0};
};
[[nodiscard]] std::optional<CounterPlace> counterAt(const GeometryInput& input, const CounterLanes& counters, double x,
                                                    double y);

} // namespace bubblescope::gui
