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

/// A value over time; each value holds until the next time.
struct CounterValues {
    std::span<const TimeNs> times; ///< ascending
    std::span<const double> values;

    /// The value at a time; 0 before the first.
    [[nodiscard]] double at(TimeNs time) const;
    /// The largest value in each column of device pixels of a plot, so that peaks remain visible; NaN before the first
    /// value. Linear in the number of visible values.
    [[nodiscard]] std::vector<double> columnMaxima(const TimeScale& scale, double device_pixel_ratio) const;
};

/// Bars of these heights at the bottom of a lane, one per column of device pixels. Neighbours of the same height are
/// joined to one bar; a height of 0 has none.
[[nodiscard]] std::vector<QRectF> barsOf(const std::vector<double>& heights, double device_pixel_ratio, double bottom);

/// Times are on the views' clock.
struct CounterLane {
    QString name;
    std::vector<TimeNs> times; ///< as in CounterValues
    std::vector<double> values;
    double maximum = 0; ///< maximum of the values, at least 0
    double minimum = 0; ///< at most 0
    QString maximum_op; ///< for memory: the op that runs at the first maximum, or starts next; empty if unknown

    [[nodiscard]] CounterValues over() const { return {times, values}; }
    [[nodiscard]] double at(TimeNs time) const { return over().at(time); }
};

/// The counters of each line: its activations in units of one forward op's, derived from the order of its ops, and the
/// trace's counters for its process. Immutable.
class CounterLanes {
public:
    /// Linear in the number of ops on all ranks and of values of all counters. Errors: Cancelled.
    [[nodiscard]] static Result<std::shared_ptr<const CounterLanes>> build(const SessionPtr& session,
                                                                           const JobControl& control);

    using LanePtr = std::shared_ptr<const CounterLane>;
    [[nodiscard]] const std::vector<LanePtr>& of(int line) const;
    /// Only those whose names the filter accepts.
    [[nodiscard]] std::shared_ptr<const CounterLanes> named(const RowFilter& filter) const;

private:
    std::vector<std::vector<LanePtr>> lines_;
};

/// A counter's value: "3.5", "12.6 M", or "1.50 GiB" for counters whose names suggest bytes, because traces contain no
/// units.
[[nodiscard]] QString counterText(double value, const QString& name);

/// Neighbouring pixels of the same height, see barsOf().
struct CounterShape {
    QRectF rect; ///< in the plot, at the bottom of its lane
    int row = 0;
    int lane = 0;
};

/// The visible counter lanes. Linear in the number of visible values.
[[nodiscard]] std::vector<CounterShape> buildCounterShapes(const GeometryInput& input, const CounterLanes& counters);

/// A lane and a time at a point of the plot.
struct CounterPlace {
    const CounterLane* lane = nullptr;
    TimeNs time{0};
};
[[nodiscard]] std::optional<CounterPlace> counterAt(const GeometryInput& input, const CounterLanes& counters, double x,
                                                    double y);

} // namespace bubblescope::gui
