#include "app/gui/models/checks.h"

#undef slots // a keyword of Qt's, and a name in core/aadiff
#include "core/aadiff/plan.h"
#include "core/cost/measured_times.h"

#include <algorithm>
#include <map>

namespace bubblescope::gui {

CheckMap checkMap(const CheckCoverage& coverage) {
    std::map<CheckPlace, std::map<CheckMap::Column, CheckMap::Cell>> cells;
    CheckMap out;
    for (const CoveredUnit& unit : coverage.units) {
        const CheckMap::Column column{unit.chunk, unit.kind};
        CheckMap::Cell& cell = cells[unit.place][column];
        ++cell.units;
        switch (unit.state()) {
        case Covered::Yes: ++cell.covered; break;
        case Covered::NotYet: ++cell.not_yet; break;
        case Covered::Never: ++cell.never; break;
        }
        cell.counts.equal += unit.counts.equal;
        cell.counts.mismatched += unit.counts.mismatched;
        cell.counts.aborted += unit.counts.aborted;
        cell.counts.skipped += unit.counts.skipped;
        if (std::ranges::find(out.columns, column) == out.columns.end()) out.columns.push_back(column);
    }
    std::ranges::sort(out.columns);
    for (auto& [place, of_place] : cells) {
        out.rows.push_back(place);
        for (const CheckMap::Column& column : out.columns)
            out.cells.push_back(of_place[column]);
    }
    return out;
}

ItemRef checkItem(const Session& session, std::size_t index) {
    const CheckRecord& check = session.run.checks.checks[index];
    for (int place = 0; place < session.stepCount(); ++place) {
        const StepTimeline& step = session.step(place);
        if (step.index != check.step || step.replica != check.replica || check.rank.index() >= step.ranks.size())
            continue;
        return {ItemKind::Check, place, check.rank.value, static_cast<std::int32_t>(index)};
    }
    return {};
}

ItemRef checkOf(const Session& session, const CheckPlace& place, const CheckMap::Column& column) {
    const auto& checks = session.run.checks.checks;
    ItemRef latest;
    for (std::size_t i = 0; i < checks.size(); ++i) {
        const CheckRecord& check = checks[i];
        const bool done = check.outcome == CheckOutcome::Equal || check.outcome == CheckOutcome::Mismatch;
        if (!done || placeOf(check) != place || check.op.chunk != column.chunk || check.op.kind != column.kind)
            continue;
        const ItemRef item = checkItem(session, i);
        if (!item) continue;
        if (check.outcome == CheckOutcome::Mismatch) return item;
        latest = item;
    }
    return latest;
}

namespace {

constexpr int kMaxSteps = 200; ///< what takes longer to cover is as good as never

void addColumns(const AadiffPlan& plan, CheckPlan& out) {
    for (const RankPlan& rank : plan.ranks) {
        for (const CheckUnit& unit : rank.units) {
            const bool known = std::ranges::any_of(out.columns, [&](const CheckPlan::Column& column) {
                return column.chunk == unit.chunk && column.kind == unit.kind;
            });
            if (!known) out.columns.push_back({unit.chunk, unit.kind});
        }
    }
    std::ranges::sort(out.columns, [](const auto& a, const auto& b) {
        return std::pair(a.chunk.value, a.kind) < std::pair(b.chunk.value, b.kind);
    });
}

CheckPlan::Unit unitOf(const RankPlan& rank, const CheckPlan::Column& column, TimeNs begin) {
    CheckPlan::Unit out;
    const auto is_it = [&](const CheckUnit& unit) { return unit.chunk == column.chunk && unit.kind == column.kind; };
    const auto found = std::ranges::find_if(rank.units, is_it);
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

Result<CheckPlan> planForRun(const Session& session, double margin) {
    if (margin < 0) return usageError("a check's margin cannot be negative", "give 0 or more");
    CheckPlan out;
    // Of several replicas the first: another one's steps are no later steps of this one.
    const int replica = session.step(0).replica;
    std::vector<StepTimeline> steps;
    for (int place = 0; place < session.stepCount(); ++place) {
        if (session.step(place).replica != replica) continue;
        steps.push_back(session.step(place));
        out.step = place;
    }
    const StepTimeline& last = steps.back();
    PlanLimits limits;
    limits.margin = margin;
    limits.max_steps = kMaxSteps;
    const AadiffPlan plan = planChecks(ObservedSlots(steps), last, typicalCosts(last), limits);
    addColumns(plan, out);
    out.ranks = plan.ranks.size();
    for (const RankPlan& rank : plan.ranks) {
        addPlaces(rank, last.begin, out);
        for (const CheckPlan::Column& column : out.columns)
            out.units.push_back(unitOf(rank, column, last.begin));
        out.idle += rank.idle();
    }
    out.checked = plan.checkedPerStep();
    out.full = plan.stepsToFull();
    out.coverable = AadiffStudy::coverableFraction(plan);
    return out;
}

} // namespace bubblescope::gui
