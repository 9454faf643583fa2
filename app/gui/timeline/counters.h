#pragma once

#include "app/gui/models/session.h"
#include "app/gui/timeline/geometry.h"

#include <QString>

#include <memory>
#include <optional>
#include <vector>

namespace bubblescope::gui {

/// A value over time, which holds from each of its times to the next. Times are the views'.
struct CounterLane {
    QString name;
    std::vector<TimeNs> times; ///< rising
    std::vector<double> values;
    double most = 0; ///< of the values, at least 0

    /// At a time; 0 before the first value.
    [[nodiscard]] double at(TimeNs time) const;
};

/// What is counted on each line: the activations it holds, in those of one forward op, as the order of its ops tells,
/// and whatever counters the trace has of its process. Immutable.
class CounterLanes {
public:
    /// Takes time with the ops of all ranks and the values of all counters. Errors: Cancelled.
    [[nodiscard]] static Result<std::shared_ptr<const CounterLanes>> build(const SessionPtr& session,
                                                                           const JobControl& control);

    [[nodiscard]] const std::vector<CounterLane>& of(int line) const;

private:
    std::vector<std::vector<CounterLane>> lines_;
};

/// A counter's value: "3.5", "1.2e+10" for what is long.
[[nodiscard]] QString counterText(double value);

/// Pixels over which a counter has one height: the largest of its values there, so that no peak is lost.
struct CounterShape {
    QRectF rect; ///< in the plot, standing on its lane's bottom
    int row = 0;
    int lane = 0;
};

/// The counter lanes in sight. Time grows with the values in sight.
[[nodiscard]] std::vector<CounterShape> buildCounterShapes(const GeometryInput& input, const CounterLanes& counters);

/// The lane and the time at a point of the plot.
struct CounterPlace {
    const CounterLane* lane = nullptr;
    TimeNs time{0};
};
[[nodiscard]] std::optional<CounterPlace> counterAt(const GeometryInput& input, const CounterLanes& counters, double x,
                                                    double y);

} // namespace bubblescope::gui
