#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bubblescope::statistics {

/// Parameters of findChanges().
struct ChangeLimits {
    double hazard = 0.01;         ///< prior chance of a change at any value
    double probability = 0.9;     ///< posterior chance from which on a change is taken
    double least_share = 0.1;     ///< by how much the medians before and after must differ, as a share of the former
    std::size_t least_values = 4; ///< on each side, so that a single odd value is no change
    double least_part = 0.05;     ///< of all values that a stretch holds; a shorter one is an episode, and no change
};

struct Change {
    std::size_t at = 0;     ///< index of the first value after it
    double probability = 0; ///< posterior chance that it lies behind the stretch before it
    double before = 0;      ///< median of the stretch before
    double after = 0;       ///< and of the stretch after, up to the next change
};

/// Where the level of a series changes: Bayesian online change-point detection after Adams and MacKay (2007). Values of
/// a stretch are taken as normal with unknown mean and variance (a normal-inverse-gamma prior, so that the predictive
/// is Student's t), scaled by the whole series' median and the spread of its successive differences. After each value
/// the run-length posterior says with what chance the stretch is younger than the last change; above
/// `limits.probability` its likeliest beginning is a candidate, which is kept if both sides are long enough and their
/// medians differ enough. Stretches that are episodes are then removed, except the last, which may continue; if the
/// levels before and after an episode differ, that change is reported. Only the likeliest of the stretches followed at
/// the same time are kept, 512 at most, so that time grows linearly with long series.
[[nodiscard]] std::vector<Change> findChanges(std::span<const double> values, const ChangeLimits& limits = {});

/// What is known of the mean and the variance of normal values after some of them: a normal-inverse-gamma
/// distribution. The next value's is Student's t with 2 · shape degrees around `mean`. Learning the value raises `rate`
/// by just what its chance asks for, so that the chance is rate^shape before over rate^shape after, and a factor that
/// the number of values determines: one logarithm a value.
struct NormalGamma {
    double mean = 0;
    double weight = 0.01; ///< the prior's: a mean within about ten spreads
    double shape = 1;
    double rate = 1;
    double log_rate = 0;

    /// The logarithm of the factor, by the number of values seen before.
    [[nodiscard]] static double logFactor(std::size_t seen);
    /// The logarithm of the rest of the value's chance.
    double learn(double value);
};

} // namespace bubblescope::statistics
