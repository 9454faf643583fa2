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

/// A step to draw, and the times that it results from.
struct Drawn {
    const Schedule& schedule;
    const StepTimeline& step;
    const CostModel& costs;
    std::span<const std::vector<ActionTime>> actions = {}; ///< per rank, drawn on lanes below the ops
};

/// Draws the steps below one another, each with its schedule, times and bubble rate and, if `consolidated`, followed by
/// the same step re-timed within its slack. An SVG document. Errors: those of svg::drawTimelines().
[[nodiscard]] Result<std::string> drawSteps(std::span<const Drawn> drawn, const svg::DrawOptions& options = {},
                                            bool consolidated = false);

} // namespace bubblescope::report
