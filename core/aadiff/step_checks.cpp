#include "core/aadiff/step_checks.h"

#include "core/aadiff/delay.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace bubblescope {

std::vector<StepChecks> checksByStep(const CheckLog& log, std::span<const StepTimeline> steps) {
    std::vector<StepChecks> result;
    if (log.checks.empty()) return result;
    const std::vector<StepReplays> replays = replaysOf(log, steps);
    std::map<std::pair<int, int>, std::vector<const CheckRecord*>> by_step; // and replica
    for (const CheckRecord& check : log.checks)
        by_step[{check.step, check.replica}].push_back(&check);
    std::set<std::tuple<CheckPlace, Chunk, OpKind, int>> covered;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        StepChecks& step = result.emplace_back();
        step.step = steps[i].index;
        step.replica = steps[i].replica;
        for (const CheckRecord* const check : by_step[{step.step, step.replica}]) {
            step.counts.add(check->outcome);
            const bool done = check->outcome == CheckOutcome::Equal || check->outcome == CheckOutcome::Mismatch;
            if (check->kind == CheckKind::Replay && done)
                covered.insert({placeOf(*check), check->op.chunk, check->op.kind, check->layer});
        }
        step.units = covered.size();
        if (i < replays.size()) step.delay = delayByChecks(steps[i], replays[i]);
    }
    return result;
}

std::optional<int> stepsToCover(std::span<const StepChecks> steps) {
    if (steps.empty() || steps.back().units == 0) return std::nullopt;
    int count = 0;
    for (const StepChecks& step : steps) {
        ++count;
        if (step.units == steps.back().units) break;
    }
    return count;
}

} // namespace bubblescope
