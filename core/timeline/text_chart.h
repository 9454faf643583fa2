#pragma once

#include "core/timeline/step_timeline.h"

#include <string>

namespace bubblescope {

/// Draws a step as text, one row per rank and one column per unit of time: an op is its name followed by '-' for each
/// further unit, a bubble is '.'. The unit is the largest that divides every time. Empty if the chart would need more
/// than `max_units` columns.
[[nodiscard]] std::string textChart(const StepTimeline& step, int max_units = 600);

/// Each rank's ops in execution order, without times.
[[nodiscard]] std::string orderText(const Schedule& schedule);

} // namespace bubblescope
