#pragma once

#include "core/aadiff/plan.h"
#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"

#include <optional>

namespace bubblescope {

/// What a schedule's bubbles can check, as its ops run and with their slack used.
struct AadiffStudy {
    StepTimeline executed;
    StepTimeline retimed; ///< ops later within their slack, so that idle time lies together (consolidate.h)
    AadiffPlan as_executed;
    AadiffPlan with_slack;
    std::optional<SlotCounts> counts; ///< of the closed form

    /// Whether ops are to be held back: full coverage comes sooner so, or else more is checked in a step.
    [[nodiscard]] bool retiming() const;
    [[nodiscard]] const AadiffPlan& plan() const { return retiming() ? with_slack : as_executed; }
    [[nodiscard]] const StepTimeline& timeline() const { return retiming() ? retimed : executed; }
    /// Share of the units that `plan` covers at all, and of a step's compute time that it runs twice.
    [[nodiscard]] static double coverableFraction(const AadiffPlan& plan);
    [[nodiscard]] double checkedFraction(const AadiffPlan& plan) const;
};

/// Errors: those of simulate(). Usage where `limits` do not name every stage or rank.
[[nodiscard]] Result<AadiffStudy> studyAadiff(const Schedule& schedule, const CostModel& costs,
                                              const PlanLimits& limits);

} // namespace bubblescope
