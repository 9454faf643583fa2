#include "core/theory/closed_form.h"

#include "core/schedule/families/registry.h"
#include "core/theory/order_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

/// The family's own form, exact or a bound.
Result<ClosedForm> familyForm(const ScheduleFamily* family, const Schedule& schedule, const CostModel& costs) {
    const bool plain = costs.comm.count() == 0 && costs.stages.empty();
    if (family == nullptr || (family->closed_form == nullptr && family->general_form == nullptr))
        return usageError(fmt::format("no closed form is known for the schedule '{}'", schedule.name));
    if (!costs.plainTransfers()) {
        return usageError(
            fmt::format("the closed form of {} holds for asynchronous transfers of one latency each, which "
                        "do not queue",
                        schedule.name));
    }
    if (plain && family->closed_form != nullptr) return family->closed_form(schedule, costs);
    if (family->general_form != nullptr) return family->general_form(schedule, costs);
    return usageError(fmt::format("the closed form of {} holds for {}", schedule.name,
                                  costs.stages.empty() ? "transfers that take no time" : "equal stages"));
}

} // namespace

std::string_view formKindName(FormKind kind) {
    switch (kind) {
    case FormKind::Exact: return "exact";
    case FormKind::LowerBound: return "lower bound";
    case FormKind::UpperBound: return "upper bound";
    }
    return "";
}

std::string_view quantityName(Quantity quantity) {
    switch (quantity) {
    case Quantity::PositionBubble: return "bubble at a position";
    case Quantity::Bubble: return "bubble of a rank";
    case Quantity::SpanBubble: return "bubble on the longest span";
    case Quantity::Makespan: return "makespan";
    case Quantity::BubbleRate: return "bubble over makespan";
    case Quantity::SpanBubbleRate: return "bubble over the longest span";
    case Quantity::OverIdeal: return "bubble over ideal";
    }
    return "";
}

bool ClosedForm::positionsKnown() const {
    const auto is_exact = [](const PositionForm& form) { return form.kind == FormKind::Exact; };
    if (!exact() || positions.empty() || !std::ranges::all_of(positions, is_exact)) return false;
    std::vector<TimeNs> sums(bubble.size(), TimeNs{0});
    for (const PositionForm& form : positions)
        sums[form.rank.index()] += form.value;
    return sums == bubble;
}

TimeNs ClosedForm::at(Rank rank, Position position) const {
    for (const PositionForm& form : positions) {
        if (form.rank == rank && form.position == position) return form.value;
    }
    return TimeNs{0};
}

std::vector<TimeNs> ClosedForm::beforeSteady() const {
    std::vector<TimeNs> values(bubble.size(), TimeNs{0});
    for (const PositionForm& form : positions) {
        if (form.position == Position::WarmupToSteady) values[form.rank.index()] = form.value;
    }
    return values;
}

Result<ClosedForm> closedForm(const Schedule& schedule, const CostModel& costs) {
    if (!costs.stages.empty() && costs.stages.size() != static_cast<std::size_t>(schedule.stages()))
        return usageError("per-stage times must name every stage");
    if (schedule.pp == 1 && costs.comm.count() > 0) { // one rank sends nothing
        CostModel free = costs;
        free.comm = TimeNs{0};
        return closedForm(schedule, free);
    }
    const ScheduleFamily* const family = findScheduleFamily(schedule.name);
    auto form = familyForm(family, schedule, costs);
    if (!form.ok() || form.value().kind == FormKind::LowerBound) { // the larger of the two bounds
        std::string note = form.ok() ? form.value().note : form.error().message;
        BUBBLESCOPE_ASSIGN(ClosedForm bound, orderBound(schedule, costs));
        if (!form.ok() || bound.makespan > form.value().makespan) form = std::move(bound);
        form.value().note = std::move(note);
    }
    if (family != nullptr && family->peak_form != nullptr && !form.value().peaks) {
        PeakForm peaks = family->peak_form(schedule);
        if (!peaks.values.empty()) form.value().peaks = std::move(peaks);
    }
    if (family != nullptr && family->quoted_forms != nullptr && costs.equalStages() && costs.plainTransfers())
        form.value().quoted = family->quoted_forms(schedule, costs);
    return form;
}

} // namespace bubblescope
