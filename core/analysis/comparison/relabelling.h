#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bubblescope {

/// The values of many measures in the steps of two runs, for testing which measures differ. Stored row by row, with one
/// row per measure and one column per step. The first `a` columns are the steps of the first run.
struct StepTable {
    std::size_t a = 0;
    std::size_t b = 0;
    std::vector<double> values; ///< a + b values per measure

    [[nodiscard]] std::size_t columns() const { return a + b; }
    [[nodiscard]] std::size_t rows() const { return columns() == 0 ? 0 : values.size() / columns(); }
    [[nodiscard]] std::span<const double> row(std::size_t i) const {
        return {values.data() + i * columns(), columns()};
    }
};

struct RelabellingLimits {
    std::size_t exhaustive = 5'000; ///< all relabellings are tried if there are at most this many
    std::size_t random = 4'999;     ///< number of random relabellings otherwise
    std::size_t at_least = 999;     ///< minimum number of random relabellings, even if `budget` allows fewer
    double budget = 1e9;            ///< maximum number of values to read
    unsigned seed = 1;              ///< fixed, so that results are reproducible
};

/// Returns the p-value per measure, adjusted for the number of measures. A p-value is the probability that randomly
/// assigning steps to the two runs gives a difference this large in this measure or in one that differs less.
///
/// Steps are the units. Step-to-step variation (clocks, data) affects many ops of a step in the same way, so ops are
/// not independent. Steps are assumed to be independent. The statistic is the difference of means divided by its
/// standard error plus a small fraction of the value, so that measures that hardly vary do not dominate. The adjustment
/// is the step-down maximum of Westfall and Young (Resampling-Based Multiple Testing, 1993, algorithm 4.1). Correlated
/// measures reduce the power only slightly, and the probability of any false alarm among all measures is the chosen p.
///
/// No p-value can be below leastChance(). Empty if either run has fewer than two steps. Takes time proportional to rows
/// x columns x relabellings.
[[nodiscard]] std::vector<double> relabellingTest(const StepTable& table, const RelabellingLimits& limits = {});

/// The smallest possible p-value for runs with this many steps.
[[nodiscard]] double leastChance(std::size_t a, std::size_t b, const RelabellingLimits& limits = {});

/// B minus A: the median of all differences between a step of one run and a step of the other (Hodges and Lehmann
/// 1963), with a 95 % interval from the normal approximation of the Mann-Whitney distribution.
struct Shift {
    double estimate = 0;
    double low = 0;
    double high = 0;
};

[[nodiscard]] Shift estimateShift(std::span<const double> a, std::span<const double> b);

} // namespace bubblescope
