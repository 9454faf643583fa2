#pragma once

#include "core/base/job.h"
#include "core/optimize/search/order_evaluator.h"

namespace bubblescope {

/// Maximum number of justifications of an order. Further ones would hardly shorten the step.
inline constexpr int kJustifyMost = 20;

/// Shortens an order by double justification, a method from project scheduling. First, each op is delayed as far as the
/// step's length allows. Then, in order of their new starts, ops move forward into the earliest gap of their rank that
/// is long enough, comes after their inputs, and has enough memory. The same is done from the other end of the step.
/// Both passes are repeated while the step gets shorter, up to `most` times.
///
/// The step never gets longer, because an op can always stay at its delayed position. `evaluator` must have an order
/// and stores the best one. Each pass takes O(ops · (log(ops) + ops that run while an op could)), which counts as
/// touched(). The result depends only on the order, unless the job is stopped. Returns true if the step gets shorter.
bool justify(OrderEvaluator& evaluator, int most, const JobControl& control);

} // namespace bubblescope
