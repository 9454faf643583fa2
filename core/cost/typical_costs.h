#pragma once

#include "core/cost/cost_model.h"
#include "core/timeline/step_timeline.h"

namespace bubblescope {

/// What the ops of a step took: medians over all ranks and chunks, robust against one slow stage. Pairs are
/// measured apart from ops that ran alone, since a half lasts as long as its pair; the time of a kind that ran in
/// pairs only is that of the pairs. `comm` is the median time of a receive.
[[nodiscard]] CostModel typicalCosts(const StepTimeline& step);

/// The same with free transfers.
[[nodiscard]] CostModel typicalOpCosts(const StepTimeline& step);

} // namespace bubblescope
