#pragma once

#include "core/base/hash.h"
#include "core/parallel/parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
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

/// A value that is a number, or a function that makes it.
template <class Value>
[[nodiscard]] double made(const Value& value) {
    if constexpr (std::is_invocable_v<const Value&>) {
        return value();
    } else {
        return value;
    }
}

/// The median of values that are made anew for each pass over them, to the bit what median() gives; of many some
/// hundredths are kept. Mostly two passes are needed.
class MultiPassMedian {
public:
    /// What one thread finds in its share of the values of a pass.
    class Share {
    public:
        /// A number, or a function that makes it: of many values the first pass looks at few, and makes only these.
        template <class Value>
        void add(const Value& value) {
            if (sampled_ > 0) {
                // A sample without any order: values may repeat after some.
                if (sampled_ == kAll || mix64(first_ + count_) < sampled_) kept_.push_back(made(value)); // not periodic
                ++count_;
            } else {
                sort(made(value));
            }
        }

    private:
        friend class MultiPassMedian;
        static constexpr std::uint64_t kAll = UINT64_MAX;

        void sort(double value) {
            // Half of all values are below the range and half above, in no order: a branch on that would be
            // mispredicted half of the time.
            if (std::max(low_ - value, value - high_) > 0) {
                below_ += value < low_ ? 1U : 0U;
            } else if (value < low_) {
                ++below_;
            } else if (value == low_) {
                ++equal_low_;
            } else if (value < high_) {
                kept_.push_back(value);
            } else if (value == high_) {
                ++equal_high_;
            }
        }

        std::uint64_t sampled_ = 0; ///< in the first pass: values whose mixed number is below it are in the sample
        std::size_t first_ = 0;     ///< the number of the first value
        std::size_t count_ = 0;     ///< in the first pass
        double low_ = 0;            ///< in later ones the middle probably lies from here
        double high_ = 0;           ///< to here
        std::size_t below_ = 0;     ///< values before `low_`
        std::size_t equal_low_ = 0;
        std::size_t equal_high_ = 0;
        std::vector<double> kept_; ///< the sample, then the values in between
    };

    /// `most` is the number of values, or more.
    explicit MultiPassMedian(std::size_t most);

    /// For the values of a pass from the `first`-th on; any thread.
    [[nodiscard]] Share share(std::size_t first) const;
    void add(Share&& share);
    /// Call when the shares of all values were added. Then value() is the median, or else another pass is needed, over
    /// the same values in the same order.
    void endPass();
    [[nodiscard]] bool ended() const { return ended_; }
    [[nodiscard]] double value() const { return value_; } ///< after the last pass
    [[nodiscard]] std::size_t kept() const { return pass_.kept_.capacity(); }

private:
    void setRange();
    [[nodiscard]] bool find(std::size_t place, double& value);

    Share pass_;
    std::size_t count_ = 0;      ///< of all values
    std::vector<double> sample_; ///< sorted
    std::size_t apart_ = 0;      ///< places in the sample from its middle to the range's begin and end
    bool ended_ = false;
    double value_ = 0;
};

/// The medians of lists whose values are made anew for as many passes as these need. `each(begin, end, use)` calls
/// use(list, value) for the values of `items` in [begin, end), on several threads; list i has `most[i]` values or
/// fewer. A value may be a function, see MultiPassMedian::Share::add().
template <class Each>
[[nodiscard]] std::vector<double> mediansInPasses(std::span<const std::size_t> most, std::size_t items,
                                                  const Each& each) {
    std::vector<MultiPassMedian> medians(most.begin(), most.end());
    while (!std::ranges::all_of(medians, &MultiPassMedian::ended)) {
        auto pieces = parallelPieces(items, [&](std::size_t begin, std::size_t end) {
            std::vector<MultiPassMedian::Share> shares;
            for (const MultiPassMedian& median : medians)
                shares.push_back(median.share(begin));
            each(begin, end, [&](std::size_t list, const auto& value) {
                if (!medians[list].ended()) shares[list].add(value);
            });
            return shares;
        });
        for (std::size_t list = 0; list < medians.size(); ++list) {
            if (medians[list].ended()) continue;
            for (std::vector<MultiPassMedian::Share>& piece : pieces)
                medians[list].add(std::move(piece[list]));
            medians[list].endPass();
        }
    }
    std::vector<double> values;
    for (const MultiPassMedian& median : medians)
        values.push_back(median.value());
    return values;
}

/// Median distance from the median; 0 of none.
[[nodiscard]] double medianDeviation(std::span<const double> values);

/// Median distance as the standard deviation that a normal distribution of that distance has.
[[nodiscard]] double robustSigma(std::span<const double> values);

inline constexpr double kSigmaOfDeviation = 1.482602218505602; ///< 1 / the normal distribution's quantile at 3/4

/// robustSigma() of values that are made anew for each pass: `each` is as mediansInPasses() takes it, but calls
/// use(value).
template <class Each>
[[nodiscard]] double robustSigmaInPasses(std::size_t items, const Each& each) {
    const auto medianOf = [&](const auto& of_value) {
        return mediansInPasses(std::array{items}, items,
                               [&](std::size_t begin, std::size_t end, const auto& use) {
                                   each(begin, end,
                                        [&](const auto& value) { use(0, [&] { return of_value(made(value)); }); });
                               })
            .front();
    };
    const double middle = medianOf([](double value) { return value; });
    return kSigmaOfDeviation * medianOf([middle](double value) { return std::abs(value - middle); });
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
