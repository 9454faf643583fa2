#pragma once

#include <string_view>

namespace bubblescope {

// findScheduleFamily() and makeSchedule() take names regardless of case, '-' and '_', and also the names of frameworks'
// classes and functions, such as PyTorch's ScheduleZBVZeroBubble.

/// The flavor that a framework's name of a schedule means: "torch" for ScheduleInterleaved1F1B. Empty for all others.
[[nodiscard]] std::string_view flavorOfScheduleName(std::string_view name);

} // namespace bubblescope
