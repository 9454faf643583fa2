#pragma once

#include "app/cli/command.h"
#include "app/cli/svg_options.h"
#include "core/graph/simulate_lowered.h"
#include "core/request/schedule_request.h"

namespace bubblescope::cli {

/// True if the requested schedule does not bind stages to ranks. `simulate` handles such schedules separately.
[[nodiscard]] bool movesStages(const ScheduleRequest& request);

/// Simulates a schedule with moving stages and prints the result. Errors: Usage.
[[nodiscard]] CommandResult simulateMovingStages(const ScheduleRequest& request, const WeightTimes& weights,
                                                 const SvgOptions& svg, bool json);

} // namespace bubblescope::cli
