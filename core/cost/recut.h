#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"

namespace bubblescope {

/// Into how many pieces a rank's share of the model is cut: its chunks, of two pipelines those of one.
[[nodiscard]] inline int chunksOfModel(const Schedule& schedule) {
    return schedule.vpp / routes(schedule.placement);
}

/// What ops cost when the same layers on a rank are cut into `now` chunks instead of `before`: all op times scale,
/// transfers do not. Usage error for times per stage, which say nothing of stages cut otherwise.
[[nodiscard]] Result<CostModel> recut(const CostModel& costs, int before, int now);

} // namespace bubblescope
