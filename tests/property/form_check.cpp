#include "tests/property/form_check.h"

#include "core/bubble/closed_form.h"
#include "core/bubble/consolidate.h"
#include "core/simulate/simulate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace bubblescope::test {
namespace {

std::string label(const Schedule& s, const OpTimes& t) {
    return fmt::format("{} {} p={} m={} v={} F={} B={} I={} W={}", s.name, s.flavor, s.pp, s.microbatches, s.vpp,
                       t.forward.count(), t.backward.count(), t.input_grad.count(), t.weight_grad.count());
}

int comparePositions(const StepTimeline& executed, const ClosedForm& form, const std::string& where) {
    const StepTimeline gathered = consolidate(executed, form.beforeSteady());
    const auto bubbles = findBubbles(gathered);
    EXPECT_EQ(gathered.wall(), executed.wall()) << where;
    int compared = 0;
    for (std::size_t r = 0; r < bubbles.size(); ++r) {
        PerPosition<TimeNs> observed{};
        for (const Bubble& bubble : bubbles[r])
            observed[positionIndex(bubble.position)] += bubble.duration();
        for (std::size_t i = 0; i < kPositionCount; ++i) {
            const auto position = static_cast<Position>(i);
            const Rank rank{static_cast<int>(r)};
            EXPECT_EQ(observed[i], form.at(rank, position)) << where << " rank " << r << " " << positionName(position);
            ++compared;
        }
    }
    return compared;
}

} // namespace

OpTimes wholeTimes(Ratio ratio) {
    return makeOpTimes(TimeNs{ratio.forward}, TimeNs{ratio.backward}, {}, {}).value();
}

OpTimes splitTimes(int forward, int input_grad, int weight_grad) {
    return makeOpTimes(TimeNs{forward}, {}, TimeNs{input_grad}, TimeNs{weight_grad}).value();
}

int compareWithSimulation(const ScheduleSpec& spec, const OpTimes& times) {
    const Schedule schedule = makeSchedule(spec).value();
    CostModel costs;
    costs.times = times;
    const std::string where = label(schedule, times);
    const auto form = closedForm(schedule, costs);
    if (!form.ok()) {
        ADD_FAILURE() << where << ": " << form.error().text();
        return 0;
    }
    EXPECT_TRUE(form.value().exact()) << where << ": " << form.value().note;
    const StepTimeline executed = simulate(schedule, costs).value();
    EXPECT_EQ(executed.wall(), form.value().makespan) << where;
    int compared = 1;
    for (std::size_t r = 0; r < executed.ranks.size(); ++r) {
        TimeNs busy{0};
        for (const TimelineOp& op : executed.ranks[r])
            busy += op.end - op.start;
        EXPECT_EQ(executed.wall() - busy, form.value().bubble[r]) << where << " rank " << r;
        ++compared;
    }
    if (form.value().positions.empty()) return compared;
    return compared + comparePositions(executed, form.value(), where);
}

} // namespace bubblescope::test
