#pragma once

#include <span>
#include <vector>

namespace bubblescope::gui {

/// A range of values that a chart shows.
struct Axis {
    double low = 0;
    double high = 1;
    bool clipped = false; ///< values beyond it exist; a chart says so where they are

    /// 0 at `low`, 1 at `high`; outside for clipped values.
    [[nodiscard]] double share(double value) const { return (value - low) / (high - low); }
};

/// An axis that the bulk of the values fills: single outliers are left outside instead of squeezing everything else.
/// Values farther from the quartiles than 4 times their distance (and beyond half as much again as they are large) are
/// outliers. With `from_zero` the axis includes 0, else it is as long as the values need, with a margin. Never empty.
[[nodiscard]] Axis robustAxis(std::span<const double> values, bool from_zero);

/// Values at 1, 2 or 5 times a power of ten within the axis, `most` at most.
[[nodiscard]] std::vector<double> niceTicks(const Axis& axis, int most);

} // namespace bubblescope::gui
