#pragma once

#include "core/base/result.h"
#include "core/schedule/action.h"

namespace bubblescope {

/// The instructions of DeepSpeed 0.19.8's TrainSchedule for 1F1B. Its sends and receives block until they end. Even and
/// odd ranks alternate between forward and backward steps, so that neighbours do not both send first. Errors: Usage for
/// any other order.
[[nodiscard]] Result<LoweredSchedule> lowerAsDeepSpeed(const Schedule& order);

} // namespace bubblescope
