#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"

#include <vector>

namespace bubblescope {

/// Every order in which stages move that exists for these sizes. Different schedules may have the same order: they
/// differ only in the messages that carry weights.
[[nodiscard]] std::vector<Schedule> movingOrders(int pp, int microbatches, int stages);

/// Closed form of the makespan of such an order, identified by its name and flavor. Weights and their gradients take no
/// time; in RoundPipe, an activation takes `costs.comm`. Errors: Usage outside the domain of movingForm() and
/// movingWeightsForm(), and for other orders.
[[nodiscard]] Result<TimeNs> movingMakespan(const Schedule& order, const CostModel& costs);

} // namespace bubblescope
