#pragma once

#include "core/schedule/families/registry.h"

namespace bubblescope {

/// The flavors of interleaved 1F1B whose backwards are split: "sail-sg" and "paddle-static-split".
[[nodiscard]] bool isSplitInterleaved(std::string_view flavor);
[[nodiscard]] Result<Schedule> splitInterleaved(const ScheduleSpec& spec);
[[nodiscard]] Result<ClosedForm> splitInterleavedForm(const Schedule& schedule, const CostModel& costs);

} // namespace bubblescope
