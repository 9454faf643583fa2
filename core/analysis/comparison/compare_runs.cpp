#include "core/analysis/comparison/compare_runs.h"

#include "core/analysis/comparison/relabelling.h"
#include "core/analysis/statistics/robust.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace bubblescope {
namespace {

constexpr double kShareOfGroups = 0.8;

Matching howToMatch(const Schedule& a, const Schedule& b) {
    if (a.pp == b.pp && a.vpp == b.vpp && a.placement == b.placement) return Matching::ByRank;
    return a.stages() == b.stages() ? Matching::ByStage : Matching::InTotal;
}

Sentence matchingNote(Matching matching, const Schedule& a, const Schedule& b) {
    if (matching == Matching::ByRank) {
        if (a.microbatches == b.microbatches) return {};
        return say(
            "m is {} in one run and {} in the other, so step times and idle times are for different amounts of work",
            a.microbatches, b.microbatches);
    }
    const auto shape = [](const Schedule& s) {
        return say("p = {}, v = {}, {} placement", s.pp, s.vpp, Sentence::term(placementName(s.placement)));
    };
    return say("one has {}, the other {}: {}", shape(a), shape(b),
               matching == Matching::ByStage ? say("ops are compared stage by stage, not one by one")
                                             : say("only steps and idle time can be compared"));
}

/// Measures of every compared step of a run.
std::vector<StepMeasures> measureRun(const Run& run, const StepSelection& selection, Matching matching) {
    std::map<int, std::vector<const StepTimeline*>> steps;
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
        if (selection.takes(i)) steps[run.steps[i].index].push_back(&run.steps[i]);
    }
    // In a step that only some replicas completed, the ops of the other replicas would appear to be missing.
    std::size_t replicas = 0;
    for (const auto& [index, timelines] : steps)
        replicas = std::max(replicas, timelines.size());
    std::erase_if(steps, [&](const auto& step) { return step.second.size() < replicas; });
    std::vector<StepMeasures> measures;
    for (const auto& [index, timelines] : steps)
        measures.push_back(measureStep(timelines, matching));
    return measures;
}

struct Row {
    MeasureKey key;
    std::int64_t times = 1; ///< occurrences per step
};

struct Tables {
    std::vector<Row> rows;
    StepTable table;
};

/// The measures that every step of both runs has, separately for whole groups and single ops.
class Matcher {
public:
    Matcher(const std::vector<StepMeasures>& a, const std::vector<StepMeasures>& b) : a_(a), b_(b) {
        std::map<MeasureKey, std::int64_t> keys; // with the number of occurrences per step
        for (const auto* const run : {&a, &b}) {
            for (const StepMeasures& step : *run) {
                for (const auto& [key, measured] : step) {
                    std::int64_t& times = keys[key];
                    times = std::max(times, measured.times);
                }
            }
        }
        for (const auto& [key, times] : keys)
            add(key, times);
        for (Tables* const tables : {&groups, &ops}) {
            tables->table.a = a.size();
            tables->table.b = b.size();
        }
    }

    Tables groups;
    Tables ops;
    std::size_t unmatched = 0;

private:
    void add(const MeasureKey& key, std::int64_t times) {
        std::vector<double> values;
        for (const auto* const run : {&a_, &b_}) {
            for (const StepMeasures& step : *run) {
                const auto found = step.find(key);
                if (found == step.end()) {
                    ++unmatched;
                    return;
                }
                values.push_back(found->second.value);
            }
        }
        Tables& tables = key.subject == Subject::Op ? ops : groups;
        tables.rows.push_back({key, times});
        tables.table.values.insert(tables.table.values.end(), values.begin(), values.end());
    }

    const std::vector<StepMeasures>& a_;
    const std::vector<StepMeasures>& b_;
};

TimeNs asTime(double value) {
    return TimeNs{std::llround(value)};
}

Change makeChange(const Tables& tables, std::size_t i, std::optional<double> chance) {
    const auto row = tables.table.row(i);
    const auto a = row.first(tables.table.a);
    const auto b = row.subspan(tables.table.a);
    const Shift shift = estimateShift(a, b);
    Change change;
    change.key = tables.rows[i].key;
    change.a = asTime(statistics::median({a.begin(), a.end()}));
    change.b = asTime(statistics::median({b.begin(), b.end()}));
    change.shift = asTime(shift.estimate);
    change.low = asTime(shift.low);
    change.high = asTime(shift.high);
    change.per_step = change.shift * tables.rows[i].times;
    change.chance = chance;
    return change;
}

/// The scale for the shift: see CompareLimits::least_share.
TimeNs yardstick(const Change& change, TimeNs step) {
    switch (change.key.subject) {
    case Subject::StageWork:
    case Subject::OpGroup:
    case Subject::Transfer: return std::max(change.a, change.b);
    case Subject::Step:
    case Subject::RankBubble:
    case Subject::Bubble:
    case Subject::Op: return step;
    }
    return step;
}

/// Changes that are significant and large enough.
std::vector<Change> findChanges(const Tables& tables, double alpha, bool tested, TimeNs step,
                                const CompareLimits& limits) {
    const std::vector<double> chances = tested ? relabellingTest(tables.table) : std::vector<double>{};
    std::vector<Change> changes;
    for (std::size_t i = 0; i < tables.rows.size(); ++i) {
        if (tested && chances[i] > alpha) continue;
        Change change = makeChange(tables, i, tested ? std::optional(chances[i]) : std::nullopt);
        const auto size = std::abs(static_cast<double>(change.shift.count()));
        if (size == 0 || size < limits.least_share * static_cast<double>(yardstick(change, step).count())) continue;
        changes.push_back(std::move(change));
    }
    std::ranges::stable_sort(changes, std::ranges::greater{},
                             [](const Change& change) { return std::abs(change.per_step.count()); });
    return changes;
}

std::vector<OrderChange> findOrderChanges(const Schedule& a, const Schedule& b) {
    std::vector<OrderChange> changes;
    for (std::size_t r = 0; r < std::min(a.ranks.size(), b.ranks.size()); ++r) {
        const auto& one = a.ranks[r];
        const auto& other = b.ranks[r];
        const auto [at_a, at_b] = std::ranges::mismatch(one, other);
        if (at_a == one.end() && at_b == other.end()) continue;
        OrderChange change;
        change.rank = Rank{static_cast<std::int32_t>(r)};
        change.index = static_cast<std::size_t>(at_a - one.begin());
        if (at_a != one.end()) change.a = *at_a;
        if (at_b != other.end()) change.b = *at_b;
        changes.push_back(change);
    }
    return changes;
}

} // namespace

RunComparison compareRuns(const Run& a, const Run& b, const CompareLimits& limits) {
    RunComparison result;
    result.limits = limits;
    result.matching = howToMatch(a.schedule, b.schedule);
    result.matching_note = matchingNote(result.matching, a.schedule, b.schedule);
    result.selection_a = selectSteps(a.steps);
    result.selection_b = selectSteps(b.steps);
    const std::vector<StepMeasures> measures_a = measureRun(a, result.selection_a, result.matching);
    const std::vector<StepMeasures> measures_b = measureRun(b, result.selection_b, result.matching);
    const Matcher matched(measures_a, measures_b);
    result.steps_a = measures_a.size();
    result.steps_b = measures_b.size();
    result.compared_groups = matched.groups.rows.size();
    result.compared_ops = matched.ops.rows.size();
    result.unmatched = matched.unmatched;

    const double for_groups = limits.alpha * kShareOfGroups;
    const double for_ops = limits.alpha - for_groups;
    const double least = leastChance(result.steps_a, result.steps_b);
    result.tested = least <= for_groups;

    result.step = makeChange(matched.groups, 0, {}); // the first key there is
    const TimeNs step_time = std::max(result.step.a, result.step.b);
    result.changes = findChanges(matched.groups, for_groups, result.tested, step_time, limits);
    const auto step = std::ranges::find(result.changes, Subject::Step, [](const Change& c) { return c.key.subject; });
    if (step != result.changes.end()) {
        result.step = *step;
        result.step_changed = result.tested;
        result.changes.erase(step);
    }
    result.step.a = result.selection_a.stepTime();
    result.step.b = result.selection_b.stepTime();
    if (!result.tested || least <= for_ops)
        result.ops = findChanges(matched.ops, for_ops, result.tested, step_time, limits);
    if (result.matching == Matching::ByRank) result.order_changes = findOrderChanges(a.schedule, b.schedule);
    return result;
}

} // namespace bubblescope
