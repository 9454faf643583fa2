#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bubblescope::statistics {

/// Middle value, the mean of the two middle ones of an even number; 0 of none.
[[nodiscard]] double median(std::vector<double> values);
/// The same; leaves the values in another order.
[[nodiscard]] double medianInPlace(std::span<double> values);

/// The median of values that come one by one. A value costs the logarithm of their number.
class RunningMedian {
public:
    RunningMedian() = default;
    /// As if these had come. Linear.
    explicit RunningMedian(std::span<const double> values);

    void add(double value);
    [[nodiscard]] std::size_t size() const { return below_.size() + above_.size(); }
    [[nodiscard]] double value() const; ///< to the bit what median() gives

private:
    std::vector<double> below_; ///< the smaller half, without the middle one of an odd number: a heap, greatest first
    std::vector<double> above_; ///< the others: a heap, least first
};

/// Median distance from the median; 0 of none.
[[nodiscard]] double medianDeviation(std::span<const double> values);

/// Median distance as the standard deviation that a normal distribution of that distance has.
[[nodiscard]] double robustSigma(std::span<const double> values);

/// The same; leaves other values.
[[nodiscard]] double robustSigmaInPlace(std::span<double> values);

/// Value at a share in [0, 1] of the sorted values, straight between neighbours (R's type 7); 0 of none.
[[nodiscard]] double quantile(std::vector<double> values, double share);

/// A straight line.
struct Line {
    double slope = 0;
    double intercept = 0;
};
/// Theil and Sen: the median of the slopes between all pairs of points with different x; the intercept is median y
/// less slope times median x. Up to about 29 % of the points may be anything. O(n^2 log n): some hundred points.
[[nodiscard]] Line theilSen(std::span<const double> x, std::span<const double> y);

} // namespace bubblescope::statistics
