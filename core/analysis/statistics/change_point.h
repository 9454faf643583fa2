#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bubblescope::statistics {

/// Parameters of findChanges().
struct ChangeLimits {
    double hazard = 0.01;         ///< prior probability of a change at each value
    double probability = 0.9;     ///< minimum posterior probability of an accepted change
    double least_share = 0.1;     ///< minimum difference of the medians before and after, as a fraction of the median
                                  ///< before
    std::size_t least_values = 4; ///< minimum number of values on each side, so that a single outlier is not a change
    /// Minimum length of a stretch as a fraction of all values; shorter stretches are episodes.
    double least_part = 0.05;
};

struct Change {
    std::size_t at = 0;     ///< index of the first value after the change
    double probability = 0; ///< posterior probability that this value belongs to a new stretch
    double before = 0;      ///< median of the stretch before
    double after = 0;       ///< median of the stretch after, up to the next change
};

/// Finds changes in the level of a series by Bayesian online change-point detection (Adams and MacKay 2007). Values of
/// a stretch are assumed to be normal with unknown mean and variance. The prior is normal-inverse-gamma, so that the
/// predictive distribution is Student's t. Values are scaled by the median of the series and the spread of successive
/// differences. After each value, the run-length posterior gives the probability that the stretch started after the
/// last change. The likeliest start is a candidate if this probability exceeds `limits.probability`. A candidate is
/// accepted if both sides are long enough and their medians differ enough. Episodes are then removed, except the last
/// stretch, which may continue. If the levels before and after a removed episode differ, that change is reported. At
/// most the 512 likeliest stretches are followed at a time, so that time grows linearly for long series.
[[nodiscard]] std::vector<Change> findChanges(std::span<const double> values, const ChangeLimits& limits = {});

/// The posterior distribution of mean and variance for normally distributed values: a normal-inverse-gamma
/// distribution. The distribution of the next value is Student's t with 2 · shape degrees of freedom around `mean`. The
/// likelihood of a new value is the ratio of rate^shape before and after adding it, times a factor that depends only on
/// the number of values. Computing the likelihood takes one logarithm per value.
struct NormalGamma {
    double mean = 0;
    double weight = 0.01; ///< weight of the prior; it places the mean within about ten spreads
    double shape = 1;
    double rate = 1;
    double log_rate = 0;

    /// The logarithm of the factor that depends only on the number of previous values.
    [[nodiscard]] static double logFactor(std::size_t seen);
    /// Adds a value and returns the logarithm of the remaining factors of its likelihood.
    double learn(double value);
};

} // namespace bubblescope::statistics
