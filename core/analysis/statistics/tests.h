#pragma once

#include <span>
#include <vector>

namespace bubblescope::statistics {

/// Probability that a standard normal variable exceeds `z`.
[[nodiscard]] double normalTail(double z);

/// The result of a test of whether one sample tends to have larger values than another.
struct RankTest {
    double u = 0;         ///< number of pairs in which the value from the first sample is larger; ties count half
    double p_greater = 1; ///< probability of a u at least this large if the samples do not differ
    double p_less = 1;
};

/// Mann–Whitney U test. Exact if there are no ties, one sample has at most 8 values and the other at most 50; otherwise
/// a normal approximation with corrections for ties and continuity. All probabilities are 1 if a sample is empty.
[[nodiscard]] RankTest mannWhitney(std::span<const double> first, std::span<const double> second);

/// Holm's correction for multiple tests. If only results below a level are accepted, the probability of any false
/// positive is at most that level. Results are in the order of `chances`.
[[nodiscard]] std::vector<double> holm(std::span<const double> chances);

} // namespace bubblescope::statistics
