#include "core/aadiff/check_plan.h"

#include "core/aadiff/plan.h"
#include "core/cost/measured_times.h"

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

constexpr int kMaxPlannedSteps = 200; ///< units that need more steps to cover count as never covered

void addColumns(const AadiffPlan& plan, CheckPlan& out) {
    for (const RankPlan& rank : plan.ranks) {
        for (const CheckUnit& unit : rank.units) {
            const bool known = std::ranges::any_of(out.columns, [&](const CheckPlan::Column& column) {
                return column.chunk == unit.chunk && column.kind == unit.kind;
            });
            if (!known) out.columns.push_back({unit.chunk, unit.kind});
        }
    }
    std::ranges::sort(out.columns, {},
                      [](const CheckPlan::Column& column) { return std::pair(column.chunk.value, column.kind); });
}

CheckPlan::Unit plannedUnit(const RankPlan& rank, const CheckPlan::Column& column, TimeNs begin) {
    CheckPlan::Unit out;
    const auto found = std::ranges::find_if(
        rank.units, [&](const CheckUnit& unit) { return unit.chunk == column.chunk && unit.kind == column.kind; });
    if (found == rank.units.end()) return out;
    out.exists = true;
    const auto index = static_cast<std::size_t>(found - rank.units.begin());
    for (std::size_t step = 0; step < rank.steps.size() && out.first_step == 0; ++step) {
        for (const PlannedCheck& check : rank.steps[step]) {
            if (check.unit != index) continue;
            out.first_step = static_cast<int>(step) + 1;
            out.checks.push_back({begin + check.start, begin + check.end});
        }
    }
    return out;
}

void addPlaces(const RankPlan& rank, TimeNs begin, CheckPlan& out) {
    for (std::size_t i = 0; i < rank.slots.size(); ++i) {
        const Slot& slot = rank.slots[i];
        CheckPlan::Place place{slot.rank, slot.position, {begin + slot.start, begin + slot.end}, {}};
        for (std::size_t c = 0; !rank.steps.empty() && c < rank.steps.front().size(); ++c) {
            const PlannedCheck& check = rank.steps.front()[c];
            const CheckUnit& unit = rank.units[check.unit];
            if (check.slot == i) place.checks.push_back({unit.kind, check.microbatch, unit.chunk});
        }
        out.places.push_back(std::move(place));
    }
}

} // namespace

Result<CheckPlan> planChecksOfRun(std::span<const StepTimeline> steps, double margin) {
    if (margin < 0) return usageError("a check's margin cannot be negative", "use 0 or more");
    CheckPlan out;
    // Only a single replica, because steps of other replicas are not later steps of the first.
    std::vector<StepTimeline> planned;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps[i].replica != steps.front().replica) continue;
        planned.push_back(steps[i]);
        out.step = static_cast<int>(i);
    }
    const StepTimeline& last = planned.back();
    PlanLimits limits;
    limits.margin = margin;
    limits.max_steps = kMaxPlannedSteps;
    const AadiffPlan plan = planChecks(shortestSlotsOf(planned), last, typicalCosts(last), limits);
    addColumns(plan, out);
    out.ranks = plan.ranks.size();
    for (const RankPlan& rank : plan.ranks) {
        addPlaces(rank, last.begin, out);
        for (const CheckPlan::Column& column : out.columns)
            out.units.push_back(plannedUnit(rank, column, last.begin));
        out.idle += rank.idle();
    }
    out.checked = plan.checkedPerStep();
    out.full = plan.stepsToFull();
    out.coverable = AadiffStudy::coverableFraction(plan);
    return out;
}

} // namespace bubblescope
