#pragma once

#include "core/recognise/run.h"
#include "core/timeline/step_values.h"

#include <map>
#include <utility>

namespace bubblescope {

/// By index of a step and replica.
using StepValueMap = std::map<std::pair<int, int>, StepValues>;

/// What the framework of a recorded job states of its steps, put together from its ranks. The first rank of a tensor-
/// or context-parallel group stands for it. Empty where nothing is stated, and where other processes hold the raw
/// slices.
[[nodiscard]] StepValueMap statedValues(const Run& run);

/// Empty values if there are none.
[[nodiscard]] StepValues valuesOf(const StepValueMap& all, const StepTimeline& step);

} // namespace bubblescope
