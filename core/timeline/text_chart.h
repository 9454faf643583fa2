#pragma once

#include "core/timeline/step_timeline.h"

#include <string>

namespace bubblescope {

/// Draws a step as text, with one row per rank and one column per unit of time: an op is drawn as its name followed by
/// '-' for each additional unit, and a bubble as '.'. The unit is the greatest common divisor of all times. Empty if
/// the chart would have more than `max_units` columns.
[[nodiscard]] std::string textChart(const StepTimeline& step, int max_units = 600);

/// The ops of each rank in execution order, without times.
[[nodiscard]] std::string orderText(const Schedule& schedule);

} // namespace bubblescope
