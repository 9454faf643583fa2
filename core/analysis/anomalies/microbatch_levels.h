#pragma once

#include "core/analysis/anomalies/samples.h"

#include <cstddef>
#include <span>
#include <vector>

namespace bubblescope {

/// The correlation between the forward and backward times of micro-batches, over all steps.
///
/// For every rank, x and y are the logarithms of a micro-batch's forward and backward times relative to similar ops
/// (means over chunks), minus the part common to all micro-batches of the step (such as a clock rate) and the part
/// common to a micro-batch's position in all steps (such as a first one that is always slow). The rest belongs to the
/// micro-batch itself. Longer data raises x and y of all ranks equally; noise of a rank or of a moment does not.
struct MicrobatchTies {
    double spread = 0;           ///< standard deviation of x, averaged over ranks: 0.1 is 10 % of the time
    double forward_backward = 0; ///< correlation of x and y, on the rank where it is smallest
    double ranks = 1;            ///< correlation of x + y with the other ranks' mean, on the rank where it is smallest
    std::size_t count = 0;       ///< micro-batches in each correlation, minus the removed means; 0 = too few
};

/// `samples` must be made from the steps. Linear in ops.
[[nodiscard]] MicrobatchTies microbatchTies(std::span<const StepTimeline> steps, const OpSamples& samples);

/// Per micro-batch: the median of its ops' times relative to similar ops; 1 if it has no ops. Halves of pairs do not
/// count, because they last as long as the pair. `rows` are the step's rows in OpSamples::rows().
[[nodiscard]] std::vector<double> microbatchLevels(const StepTimeline& step, const OpSamples& samples,
                                                   std::span<const OpRow> rows);

} // namespace bubblescope
