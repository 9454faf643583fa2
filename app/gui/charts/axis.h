#pragma once

#include <span>
#include <vector>

namespace bubblescope::gui {

/// The range of values that a chart shows.
struct Axis {
    double low = 0;
    double high = 1;
    bool clipped = false; ///< true if there are values outside; a chart marks them

    /// 0 at `low`, 1 at `high`; outside of that for clipped values.
    [[nodiscard]] double fraction(double value) const { return (value - low) / (high - low); }
};

/// An axis that most values fill; outliers lie outside. Outliers are farther from the quartiles than 4 interquartile
/// ranges (and than half their own size). With `from_zero` the axis includes 0, otherwise it covers the values with a
/// margin. Never empty.
[[nodiscard]] Axis robustAxis(std::span<const double> values, bool from_zero);

/// At most `max_count` values on the axis, at 1, 2 or 5 times a power of ten.
[[nodiscard]] std::vector<double> niceTicks(const Axis& axis, int max_count);

} // namespace bubblescope::gui
