#include "core/theory/closed_form.h"

#include "core/schedule/families/registry.h"
#include "core/theory/forms/family_theory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

/// The form of the family, exact or a bound.
Result<ClosedForm> familyForm(const FamilyTheory* theory, const Schedule& schedule, const CostModel& costs) {
    const bool plain = costs.comm.count() == 0 && costs.stages.empty();
    if (theory == nullptr)
        return usageError(fmt::format("no closed form is known for the schedule '{}'", schedule.name));
    if (!costs.plainTransfers()) {
        return usageError(
            fmt::format("the closed form of {} holds for asynchronous transfers of one latency each, which "
                        "do not queue",
                        schedule.name));
    }
    if (plain && theory->closed_form != nullptr) return theory->closed_form(schedule, costs);
    if (theory->general_form != nullptr) return theory->general_form(schedule, costs);
    return usageError(fmt::format("the closed form of {} holds for {}", schedule.name,
                                  costs.stages.empty() ? "transfers that take no time" : "equal stages"));
}

} // namespace

Result<ClosedForm> closedForm(const Schedule& schedule, const CostModel& costs) {
    if (!costs.stages.empty() && costs.stages.size() != static_cast<std::size_t>(schedule.stages()))
        return usageError("per-stage times must name every stage");
    if (schedule.pp == 1 && costs.comm.count() > 0) { // a single rank sends nothing
        CostModel free = costs;
        free.comm = TimeNs{0};
        return closedForm(schedule, free);
    }
    const ScheduleFamily* const family = findScheduleFamily(schedule.name); // also by alias
    const FamilyTheory* const theory = family == nullptr ? nullptr : findFamilyTheory(family->name);
    auto form = familyForm(theory, schedule, costs);
    if (!form.ok() || form.value().kind == FormKind::LowerBound) { // takes the larger of the two bounds
        std::string note = form.ok() ? form.value().note : form.error().message;
        BUBBLESCOPE_ASSIGN(ClosedForm bound, orderBound(schedule, costs));
        if (!form.ok() || bound.makespan > form.value().makespan) form = std::move(bound);
        form.value().note = std::move(note);
    }
    if (theory != nullptr && theory->peak_form != nullptr && !form.value().peaks) {
        PeakForm peaks = theory->peak_form(schedule);
        if (!peaks.values.empty()) form.value().peaks = std::move(peaks);
    }
    if (theory != nullptr && theory->quoted_forms != nullptr && costs.equalStages() && costs.plainTransfers())
        form.value().quoted = theory->quoted_forms(schedule, costs);
    return form;
}

} // namespace bubblescope
