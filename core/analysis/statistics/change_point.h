#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bubblescope::statistics {

/// Parameters of findChanges().
struct ChangeLimits {
    double hazard = 0.01;         ///< prior probability of a change at any value
    double probability = 0.9;     ///< minimum posterior probability of an accepted change
    double least_share = 0.1;     ///< minimum difference of the medians before and after, as a fraction of the median
                                  ///< before
    std::size_t least_values = 4; ///< minimum number of values on each side, so that a single odd value is not a change
    double least_part =
        0.05; ///< minimum fraction of all values in a stretch; a shorter one is an episode, not a change
};

struct Change {
    std::size_t at = 0;     ///< index of the first value after it
    double probability = 0; ///< posterior probability that it belongs to a new stretch
    double before = 0;      ///< median of the stretch before
    double after = 0;       ///< and of the stretch after, up to the next change
};

/// Finds where the level of a series changes: Bayesian online change-point detection after Adams and MacKay (2007).
/// Values of a stretch are assumed to be normal with unknown mean and variance (a normal-inverse-gamma prior, so that
/// the predictive distribution is Student's t), scaled by the whole series' median and the spread of its successive
/// differences. After each value, the run-length posterior gives the probability that the stretch began after the last
/// change; above `limits.probability` its likeliest start is a candidate, which is kept if both sides are long enough
/// and their medians differ enough. Stretches that are episodes are then removed, except the last, which may continue;
/// if the levels before and after an episode differ, that change is reported. Only the likeliest stretches are followed
/// at the same time, at most 512, so that time grows linearly for long series.
[[nodiscard]] std::vector<Change> findChanges(std::span<const double> values, const ChangeLimits& limits = {});

/// The distribution of the mean and the variance of normally distributed values, given the values so far: a
/// normal-inverse-gamma distribution. The distribution of the next value is Student's t with 2 · shape degrees of
/// freedom around `mean`. Learning a value raises `rate` exactly so that the value's likelihood is rate^shape before
/// over rate^shape after, times a factor that depends only on the number of values. This takes one logarithm per value.
struct NormalGamma {
    double mean = 0;
    double weight = 0.01; ///< of the prior: a mean within about ten spreads
    double shape = 1;
    double rate = 1;
    double log_rate = 0;

    /// The logarithm of the factor, by the number of values seen before.
    [[nodiscard]] static double logFactor(std::size_t seen);
    /// The logarithm of the rest of the value's likelihood.
    double learn(double value);
};

} // namespace bubblescope::statistics
