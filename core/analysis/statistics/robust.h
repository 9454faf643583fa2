#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
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

/// The median of values that are made anew for each pass over them, to the bit what median() gives; of many some
/// hundredths are kept. Mostly two passes are needed.
class MultiPassMedian {
public:
    /// `most` is the number of values, or more.
    explicit MultiPassMedian(std::size_t most);

    void add(double value) {
        if (samples_) {
            // A sample without any order: values may repeat after some.
            if (keepsAll() || mixed(++count_) < sampled_) kept_.push_back(value);
            return;
        }
        if (value < low_)
            ++below_;
        else if (value == low_)
            ++equal_low_;
        else if (value < high_)
            kept_.push_back(value);
        else if (value == high_)
            ++equal_high_;
    }
    /// Call when all values were added. True if another pass is needed: over the same values in the same order.
    [[nodiscard]] bool endPass();
    [[nodiscard]] double value() const { return value_; } ///< after the last pass
    [[nodiscard]] std::size_t kept() const { return kept_.capacity(); }

private:
    /// Spreads whole numbers over all 64-bit ones (the finaliser of SplitMix64). Multiples of one number would not do:
    /// among them are periods that values may have too.
    static constexpr std::uint64_t mixed(std::uint64_t number) {
        number = (number ^ number >> 30U) * 0xbf58476d1ce4e5b9;
        number = (number ^ number >> 27U) * 0x94d049bb133111eb;
        return number ^ number >> 31U;
    }
    [[nodiscard]] bool keepsAll() const { return sampled_ == UINT64_MAX; }
    void setRange();
    [[nodiscard]] bool find(std::size_t place, double& value);

    std::uint64_t sampled_ = UINT64_MAX; ///< values whose mixed number is below it are in the sample
    bool samples_ = true;                ///< in the first pass
    std::size_t count_ = 0;
    std::vector<double> sample_; ///< sorted
    std::size_t apart_ = 0;      ///< places in the sample from its middle to `low_` and `high_`
    double low_ = 0;             ///< the middle probably lies from here
    double high_ = 0;            ///< to here
    std::size_t below_ = 0;      ///< values before `low_`
    std::size_t equal_low_ = 0;
    std::size_t equal_high_ = 0;
    std::vector<double> kept_; ///< the sample, then the values in between
    double value_ = 0;
};

/// Calls `each(use)`, which calls use(value) for each value, for as many passes as the median needs.
template <class Each>
[[nodiscard]] MultiPassMedian medianInPasses(std::size_t most, const Each& each) {
    MultiPassMedian median(most);
    do
        each([&median](double value) { median.add(value); });
    while (median.endPass());
    return median;
}

/// Median distance from the median; 0 of none.
[[nodiscard]] double medianDeviation(std::span<const double> values);

/// Median distance as the standard deviation that a normal distribution of that distance has.
[[nodiscard]] double robustSigma(std::span<const double> values);

inline constexpr double kSigmaOfDeviation = 1.482602218505602; ///< 1 / the normal distribution's quantile at 3/4

/// robustSigma() of values that are made anew for each pass, as medianInPasses() takes them.
template <class Each>
[[nodiscard]] double robustSigmaInPasses(std::size_t most, const Each& each) {
    const double middle = medianInPasses(most, each).value();
    const auto distances = [&](const auto& use) { each([&](double value) { use(std::abs(value - middle)); }); };
    return kSigmaOfDeviation * medianInPasses(most, distances).value();
}

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
