#pragma once

#include "app/gui/models/counter_lanes.h"
#include "app/gui/timeline/geometry.h"

#include <optional>
#include <vector>

namespace bubblescope::gui {

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
