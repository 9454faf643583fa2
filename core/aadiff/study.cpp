#include "core/aadiff/study.h"

#include "core/graph/consolidate.h"
#include "core/graph/simulate.h"
#include "core/theory/closed_form.h"

#include <fmt/format.h>

#include <tuple>

namespace bubblescope {
namespace {

Status checkLimits(const Schedule& schedule, const PlanLimits& limits) {
    const std::size_t stages = schedule.ranks.size() * static_cast<std::size_t>(schedule.vpp);
    const auto wrong = [](std::size_t size, std::size_t wanted) { return size != 0 && size != wanted; };
    if (wrong(limits.layers.size(), stages)) {
        return usageError(
            fmt::format("layers are given for {} stages, the schedule has {}", limits.layers.size(), stages));
    }
    if (wrong(limits.kept_bytes.size(), stages) || wrong(limits.spare_bytes.size(), schedule.ranks.size()))
        return usageError("memory is given for another number of stages or ranks than the schedule has");
    return {};
}

} // namespace

double AadiffStudy::coverableFraction(const AadiffPlan& plan) {
    std::size_t units = 0;
    std::size_t never = 0;
    for (const RankPlan& rank : plan.ranks) {
        units += rank.units.size();
        never += rank.never.size();
    }
    return units == 0 ? 0 : static_cast<double>(units - never) / static_cast<double>(units);
}

double AadiffStudy::checkedFraction(const AadiffPlan& plan) const {
    TimeNs compute{0};
    for (const auto& ops : executed.ranks) {
        for (const TimelineOp& op : ops)
            compute += op.duration();
    }
    return compute <= TimeNs{0}
               ? 0
               : static_cast<double>(plan.checkedPerStep().count()) / static_cast<double>(compute.count());
}

bool AadiffStudy::retiming() const {
    constexpr static int kNever = 1 << 30;
    const auto worth = [this](const AadiffPlan& plan) {
        return std::tuple(coverableFraction(plan), -plan.stepsToFull().value_or(kNever), checkedFraction(plan));
    };
    return worth(with_slack) > worth(as_executed);
}

Result<AadiffStudy> studyAadiff(const Schedule& schedule, const CostModel& costs, const PlanLimits& limits) {
    BUBBLESCOPE_TRY(checkLimits(schedule, limits));
    AadiffStudy study;
    BUBBLESCOPE_ASSIGN(study.executed, simulate(schedule, costs));
    BUBBLESCOPE_ASSIGN(const ClosedForm form, closedForm(schedule, costs));
    study.retimed = consolidate(study.executed, form.beforeSteady());
    study.as_executed = planChecks(ScheduleSlots(study.executed), study.executed, costs, limits);
    study.with_slack = planChecks(ScheduleSlots(study.retimed), study.retimed, costs, limits);
    study.counts = slotCounts(schedule, costs);
    return study;
}

} // namespace bubblescope
