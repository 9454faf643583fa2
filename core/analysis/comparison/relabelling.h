#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bubblescope {

/// The values of many measures in the steps of two runs, for testing which measures differ. Stored row by row, one
/// value per measure and step; the first `a` columns are the first run's steps.
struct StepTable {
    std::size_t a = 0;
    std::size_t b = 0;
    std::vector<double> values; ///< (a + b) per measure

    [[nodiscard]] std::size_t columns() const { return a + b; }
    [[nodiscard]] std::size_t rows() const { return columns() == 0 ? 0 : values.size() / columns(); }
    [[nodiscard]] std::span<const double> row(std::size_t i) const {
        return {values.data() + i * columns(), columns()};
    }
};

struct RelabellingLimits {
    std::size_t exhaustive = 5'000; ///< up to this many relabellings, all are tried
    std::size_t random = 4'999;     ///< otherwise this many random ones
    std::size_t at_least = 999;     ///< at least this many, even if `budget` allows fewer
    double budget = 1e9;            ///< maximum number of values to read
    unsigned seed = 1;              ///< fixed, so that results are reproducible
};

/// Per measure, the p-value, adjusted for the number of measures: the probability that steps assigned to two runs at
/// random differ as much as these in this measure or in one that differs less.
///
/// Steps are the units: variation from step to step (clocks, data) affects many ops of a step together, so ops are not
/// independent, but steps are assumed to be. The statistic is the difference of means over its standard error plus a
/// small fraction of the value, so that measures that hardly vary do not dominate. The adjustment is the step-down
/// maximum of Westfall and Young (Resampling-Based Multiple Testing, 1993, algorithm 4.1): correlated measures cost
/// little, and the probability of even one false alarm among all measures is the chosen p.
///
/// No value can be below leastChance(). Empty with fewer than two steps on either side. Takes time proportional to rows
/// x columns x relabellings.
[[nodiscard]] std::vector<double> relabellingTest(const StepTable& table, const RelabellingLimits& limits = {});

/// The smallest p-value that runs of this many steps can have.
[[nodiscard]] double leastChance(std::size_t a, std::size_t b, const RelabellingLimits& limits = {});

/// B minus A: the median of all differences between a step of one run and a step of the other (Hodges and Lehmann
/// 1963), with its 95 % interval from the Mann-Whitney distribution's normal approximation.
struct Shift {
    double estimate = 0;
    double low = 0;
    double high = 0;
};

[[nodiscard]] Shift estimateShift(std::span<const double> a, std::span<const double> b);

} // namespace bubblescope
