#pragma once

#include "core/cost/cost_model.h"
#include "core/graph/simulate_lowered.h"
#include "core/report/svg/draw_timelines.h"
#include "core/schedule/schedule.h"
#include "core/timeline/step_timeline.h"

#include <span>
#include <string>
#include <vector>

namespace bubblescope::report {

/// A step to draw, with the times from which it was computed.
struct Drawn {
    const Schedule& schedule;
    const StepTimeline& step;
    const CostModel& costs;
    std::span<const std::vector<ActionTime>> actions = {}; ///< per rank, drawn in lanes below the ops
};

/// Draws the steps one below the other as an SVG document, each with its schedule, times and bubble rate, and, if
/// `consolidated` is set, also re-timed within its slack. Errors: those of svg::drawTimelines().
[[nodiscard]] Result<std::string> drawSteps(std::span<const Drawn> drawn, const svg::DrawOptions& options = {},
                                            bool consolidated = false);

} // namespace bubblescope::report
