#pragma once

#include "core/base/result.h"
#include "core/schedule/action.h"

namespace bubblescope {

/// Instructions of the TrainSchedule of DeepSpeed 0.19.8 for 1F1B. Sends and receives block until they end. Even and
/// odd ranks alternate between forward and backward steps, so that two neighbours never both send first. Errors: Usage
/// for any other order.
[[nodiscard]] Result<LoweredSchedule> lowerAsDeepSpeed(const Schedule& order);

} // namespace bubblescope
