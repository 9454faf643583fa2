#pragma once

#include "app/gui/models/item.h"

#include <QString>

#include <cmath>
#include <vector>

namespace bubblescope::gui {

/// Maps the visible range to [0, width) logical pixels. Times are subtracted as integers first, so that nanosecond
/// precision is not lost for large clock values.
struct TimeScale {
    TimeRange range;
    double width = 1;

    [[nodiscard]] double x(TimeNs time) const {
        return static_cast<double>((time - range.begin).count()) * width / static_cast<double>(range.length().count());
    }
    [[nodiscard]] TimeNs time(double x) const {
        return range.begin + TimeNs{std::llround(x / width * static_cast<double>(range.length().count()))};
    }
    /// Time that this number of pixels covers, at least 1 ns.
    [[nodiscard]] TimeNs perPixel(double pixels = 1) const {
        const double ns = pixels * static_cast<double>(range.length().count()) / width;
        return TimeNs{std::max<std::int64_t>(1, static_cast<std::int64_t>(ns))};
    }
};

struct Tick {
    double x = 0;
    bool major = false;
    QString label; ///< empty for minor ticks
};

/// Ticks at multiples of 1, 2 or 5 times a power of ten, relative to `origin`. Major ticks are at least `label_room`
/// pixels apart. Labels share one unit and have as many decimals as the spacing requires.
[[nodiscard]] std::vector<Tick> makeTicks(const TimeScale& scale, TimeNs origin, double label_room);

} // namespace bubblescope::gui
