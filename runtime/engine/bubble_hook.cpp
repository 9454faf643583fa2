#include "runtime/engine/bubble_hook.h"

#include "core/graph/simulate.h"

#include <algorithm>

namespace bubblescope::runtime {
namespace {

bool hasTimes(const CostModel& times) {
    const auto given = [](const OpTimes& of) { return of.forward + of.backward + of.input_grad > TimeNs{0}; };
    return given(times.times) || std::ranges::any_of(times.stages, given);
}

} // namespace

CostModel timesOrUnits(const CostModel& times) {
    constexpr TimeNs kUnit{1'000'000};
    if (hasTimes(times)) return times;
    CostModel units;
    units.times = {kUnit, 2 * kUnit, kUnit, kUnit, TimeNs{0}};
    return units;
}

std::vector<std::vector<BubblePlace>> bubblePlaces(const Schedule& schedule, const CostModel& times) {
    std::vector<std::vector<BubblePlace>> places(schedule.ranks.size());
    const Result<StepTimeline> step = simulate(schedule, timesOrUnits(times));
    if (!step.ok()) return places;
    const auto bubbles = findBubbles(step.value());
    for (std::size_t r = 0; r < places.size(); ++r) {
        const auto& timeline = step.value().ranks[r];
        const auto& list = schedule.ranks[r];
        for (const Bubble& bubble : bubbles[r]) {
            const auto ends = std::ranges::find_if(timeline, [&](const TimelineOp& op) {
                return op.start == bubble.end && op.op.kind != OpKind::Optimizer;
            });
            const auto place = ends == timeline.end() ? list.end() : std::ranges::find(list, ends->op);
            places[r].push_back({bubble.position, static_cast<std::size_t>(place - list.begin()), bubble.duration()});
        }
    }
    return places;
}

} // namespace bubblescope::runtime
