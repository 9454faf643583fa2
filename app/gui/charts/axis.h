#pragma once

#include <span>
#include <vector>

namespace bubblescope::gui {

/// Range of values that a chart shows.
struct Axis {
    double low = 0;
    double high = 1;
    bool clipped = false; ///< true if some values are outside the range; the chart marks them

    /// 0 at `low`, 1 at `high`, and outside [0, 1] for clipped values.
    [[nodiscard]] double fraction(double value) const { return (value - low) / (high - low); }
};

/// An axis for all values except outliers. A value is an outlier if its distance from the quartiles exceeds 4
/// interquartile ranges and half the value. If `from_zero` is set, the axis includes 0; otherwise, it has a margin on
/// both sides. Never empty.
[[nodiscard]] Axis robustAxis(std::span<const double> values, bool from_zero);

/// At most `max_count` ticks on the axis, at multiples of 1, 2 or 5 times a power of ten.
[[nodiscard]] std::vector<double> niceTicks(const Axis& axis, int max_count);

} // namespace bubblescope::gui
