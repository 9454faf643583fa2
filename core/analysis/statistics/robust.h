#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bubblescope::statistics {

/// The median of the values. For an even number of values, the mean of the two middle ones; 0 for an empty list.
[[nodiscard]] double median(std::vector<double> values);
/// Like median(), but reorders the values.
[[nodiscard]] double medianInPlace(std::span<double> values);

/// The median of values that arrive one by one. Adding a value takes logarithmic time.
class RunningMedian {
public:
    RunningMedian() = default;
    /// Starts with these values. Linear time.
    explicit RunningMedian(std::span<const double> values);

    void add(double value);
    [[nodiscard]] std::size_t size() const { return below_.size() + above_.size(); }
    [[nodiscard]] double value() const; ///< bit-identical to median()

private:
    std::vector<double> below_; ///< max-heap of the smaller half, without the middle value
    std::vector<double> above_; ///< min-heap of all other values
};

/// The median of the values' distances from their median; 0 for an empty list.
[[nodiscard]] double medianDeviation(std::span<const double> values);

/// medianDeviation() scaled to the standard deviation of a normal distribution.
[[nodiscard]] double robustSigma(std::span<const double> values);

/// Like robustSigma(), but overwrites the values.
[[nodiscard]] double robustSigmaInPlace(std::span<double> values);

/// The quantile at a fraction in [0, 1], interpolated linearly (R's type 7); 0 for an empty list.
[[nodiscard]] double quantile(std::vector<double> values, double share);

} // namespace bubblescope::statistics
