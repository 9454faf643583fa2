#pragma once

#include "app/gui/models/time_range.h"

#include <cmath>

namespace bubblescope::gui {

/// Maps the visible range to [0, width) logical pixels. Subtracts as integers first, so that nanoseconds
/// survive in traces whose clock started long ago.
struct TimeScale {
    TimeRange range;
    double width = 1;

    [[nodiscard]] double x(TimeNs time) const {
        return static_cast<double>((time - range.begin).count()) * width / static_cast<double>(range.length().count());
    }
    [[nodiscard]] TimeNs time(double x) const {
        return range.begin + TimeNs{std::llround(x / width * static_cast<double>(range.length().count()))};
    }
    /// Never 0.
    [[nodiscard]] TimeNs perPixel(double pixels = 1) const {
        const double ns = pixels * static_cast<double>(range.length().count()) / width;
        return TimeNs{std::max<std::int64_t>(1, static_cast<std::int64_t>(ns))};
    }
};

} // namespace bubblescope::gui
