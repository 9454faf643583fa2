#pragma once

#include "core/base/job.h"
#include "core/optimize/search/order_evaluator.h"

#include <cstdint>

namespace bubblescope {

/// How often the search justifies an order at the most, which then hardly gets shorter.
inline constexpr int kJustifyMost = 20;

/// Shortens an order by what project scheduling calls double justification. Each op is put off as far as the step's
/// length allows; then, in the order in which they would now start, ops move forward into the earliest gap of their
/// rank that is long enough, after their inputs, and has memory left. The same is done from the other end of the step.
/// Both are repeated while the step gets shorter, up to `most` times.
///
/// The step never gets longer: an op may always stay where it was put off to. `evaluator` has an order and keeps the
/// best one. Each time O(ops · (log(ops) + ops that run while an op could)), which counts as touched(). The result
/// depends on the order alone, unless the job is stopped. True if the step got shorter.
bool justify(OrderEvaluator& evaluator, int most, const JobControl& control);

} // namespace bubblescope
