#pragma once

#include "core/analysis/anomalies/samples.h"

#include <cstddef>
#include <span>
#include <vector>

namespace bubblescope {

/// How far the forward and backward times of micro-batches go together, over all steps.
///
/// Of every rank, x and y are the logarithms of a micro-batch's forward and backward times relative to their likes
/// (means over chunks), less what is common to all micro-batches of the step (a clock rate), less what is common to a
/// micro-batch's place in all steps (a first one that is always slow). What remains is the micro-batch's own. Longer
/// data shows in x and y of all ranks alike; noise of a rank or of a moment does not.
struct MicrobatchTies {
    double spread = 0;           ///< standard deviation of x, mean of the ranks: 0.1 is 10 % of the time
    double forward_backward = 0; ///< correlation of x and y, of the rank where it is least
    double ranks = 1;            ///< correlation of x + y with the other ranks' mean, of the rank where it is least
    std::size_t count = 0;       ///< micro-batches behind each correlation, less the means taken out; 0 = too few
};

/// `samples` were made of the steps. Linear in ops.
[[nodiscard]] MicrobatchTies microbatchTies(std::span<const StepTimeline> steps, const OpSamples& samples);

/// By micro-batch: the median of its ops' times relative to their likes; 1 where it has none. Halves of pairs do not
/// count: they last as long as the pair. `rows` are those of the step in OpSamples::rows().
[[nodiscard]] std::vector<double> microbatchLevels(const StepTimeline& step, const OpSamples& samples,
                                                   std::span<const OpRow> rows);

} // namespace bubblescope
