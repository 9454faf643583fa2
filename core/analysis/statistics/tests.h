#pragma once

#include <span>
#include <vector>

namespace bubblescope::statistics {

/// Chance that a standard normal variable exceeds `z`.
[[nodiscard]] double normalTail(double z);

/// Whether one sample tends to be larger than another.
struct RankTest {
    double u = 0;         ///< pairs in which the first sample's value is larger; ties count half
    double p_greater = 1; ///< chance of such a u or a larger one if the samples do not differ
    double p_less = 1;
    double p_two_sided = 1;
};

/// Mann and Whitney's U. Exact where there are no ties and one sample has at most 8 values and the other at most 50,
/// else normal, with corrections for ties and continuity. All chances are 1 where a sample is empty.
[[nodiscard]] RankTest mannWhitney(std::span<const double> first, std::span<const double> second);

/// Chances corrected for how many tests were made: Holm's, so that any of those below a level is false with no more
/// than that chance. In the order given.
[[nodiscard]] std::vector<double> holm(std::span<const double> chances);

/// Likewise Benjamini and Hochberg's, so that of those below a level no more than that share is false on average.
[[nodiscard]] std::vector<double> benjaminiHochberg(std::span<const double> chances);

} // namespace bubblescope::statistics
