#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bubblescope {

/// Many measures of the steps of two runs: which of them differ? A table, row after row, of one value per measure and
/// step; the first `a` columns are the first run's steps.
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
    std::size_t exhaustive = 5'000; ///< all ways to deal the steps to two runs are tried up to this many
    std::size_t random = 4'999;     ///< otherwise this many drawn ones
    std::size_t at_least = 999;     ///< of them, when `budget` asks for fewer
    double budget = 1e9;            ///< values read in all
    unsigned seed = 1;              ///< same input, same answer
};

/// Per measure, the chance that steps dealt to two runs at random differ as much as these in this measure or one
/// that differs less, adjusted for there being many measures.
///
/// Steps are the units: what varies from step to step (clocks, data) moves many ops of a step together, so that ops
/// are not independent but steps are taken to be. The statistic is the difference of means over its standard error
/// plus a small share of the value, which keeps measures that hardly vary from shouting. The adjustment is the
/// step-down maximum of Westfall and Young (Resampling-Based Multiple Testing, 1993, algorithm 4.1): measures that
/// move together cost little, and the chance of even one false alarm among all measures is the p that one looks for.
///
/// No value can be below leastChance(). Empty with fewer than two steps on either side. Time: rows x columns x ways.
[[nodiscard]] std::vector<double> relabellingTest(const StepTable& table, const RelabellingLimits& limits = {});

/// The smallest chance that runs of this many steps can give.
[[nodiscard]] double leastChance(std::size_t a, std::size_t b, const RelabellingLimits& limits = {});

/// B minus A: the median of all differences between a step of one and a step of the other (Hodges and Lehmann 1963),
/// with its 95 % interval from the Mann-Whitney distribution's normal approximation.
struct Shift {
    double estimate = 0;
    double low = 0;
    double high = 0;
};

[[nodiscard]] Shift estimateShift(std::span<const double> a, std::span<const double> b);

} // namespace bubblescope
