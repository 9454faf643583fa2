#pragma once

#include "app/gui/timeline/time_scale.h"

#include <QString>

#include <vector>

namespace bubblescope::gui {

struct Tick {
    double x = 0;
    bool major = false;
    QString label; ///< empty on minor ticks
};

/// Ticks at 1, 2 or 5 times a power of ten, major ones at least `label_room` pixels apart, counted from
/// `origin`. Labels share one unit and carry as many decimals as the spacing needs.
[[nodiscard]] std::vector<Tick> makeTicks(const TimeScale& scale, TimeNs origin, double label_room);

} // namespace bubblescope::gui
