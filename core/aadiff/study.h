#pragma once

#include "core/aadiff/plan.h"
#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"

#include <optional>

namespace bubblescope {

/// The checks that fit into a schedule's bubbles, as its ops run and with their slack used.
struct AadiffStudy {
    StepTimeline executed;
    StepTimeline retimed; ///< ops delayed within their slack, so that idle time is contiguous (consolidate.h)
    AadiffPlan as_executed;
    AadiffPlan with_slack;
    std::optional<SlotCounts> counts; ///< of the closed form

    /// Whether delaying ops pays: full coverage is reached sooner, or more is checked per step.
    [[nodiscard]] bool retiming() const;
    [[nodiscard]] const AadiffPlan& plan() const { return retiming() ? with_slack : as_executed; }
    [[nodiscard]] const StepTimeline& timeline() const { return retiming() ? retimed : executed; }
    /// The fraction of the units that `plan` ever covers, and of a step's compute time that it runs twice.
    [[nodiscard]] static double coverableFraction(const AadiffPlan& plan);
    [[nodiscard]] double checkedFraction(const AadiffPlan& plan) const;
};

/// Errors: those of simulate(); Usage if `limits` do not cover every stage or rank.
[[nodiscard]] Result<AadiffStudy> studyAadiff(const Schedule& schedule, const CostModel& costs,
                                              const PlanLimits& limits);

} // namespace bubblescope
