#pragma once

#include "core/aadiff/plan.h"
#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"

#include <optional>

namespace bubblescope {

/// The checks that a schedule's bubbles can hold, as its ops run and with their slack used.
struct AadiffStudy {
    StepTimeline executed;
    StepTimeline retimed; ///< ops delayed within their slack, so that idle time is contiguous (consolidate.h)
    AadiffPlan as_executed;
    AadiffPlan with_slack;
    std::optional<SlotCounts> counts; ///< of the closed form

    /// Whether delaying ops pays: full coverage comes sooner, or more is checked in a step.
    [[nodiscard]] bool retiming() const;
    [[nodiscard]] const AadiffPlan& plan() const { return retiming() ? with_slack : as_executed; }
    [[nodiscard]] const StepTimeline& timeline() const { return retiming() ? retimed : executed; }
    /// The fraction of the units that `plan` covers at all, and of a step's compute time that it runs twice.
    [[nodiscard]] static double coverableFraction(const AadiffPlan& plan);
    [[nodiscard]] double checkedFraction(const AadiffPlan& plan) const;
};

/// Errors: those of simulate(). Usage where `limits` do not cover every stage or rank.
[[nodiscard]] Result<AadiffStudy> studyAadiff(const Schedule& schedule, const CostModel& costs,
                                              const PlanLimits& limits);

} // namespace bubblescope
