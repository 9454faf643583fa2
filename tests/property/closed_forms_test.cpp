// Every closed form against simulation, rank by rank and position by position, over a grid of p, m, v and
// time ratios. The simulation knows nothing of the forms; consolidation gathers its idle time.

#include "core/bubble/closed_form.h"
#include "core/bubble/consolidate.h"
#include "core/schedule/registry.h"
#include "core/simulate/simulate.h"

#include <gtest/gtest.h>

#include <numeric>

namespace bubblescope {
namespace {

struct Ratio {
    int forward;
    int backward;
};
constexpr Ratio kRatios[] = {{1, 1}, {1, 2}, {2, 3}, {3, 1}, {7, 5}};

CostModel costs(Ratio ratio) {
    CostModel model;
    model.times = makeOpTimes(TimeNs{ratio.forward}, TimeNs{ratio.backward}, {}, {}).value();
    return model;
}

std::string label(const Schedule& s, Ratio ratio) {
    return s.name + " p=" + std::to_string(s.pp) + " m=" + std::to_string(s.microbatches) +
           " v=" + std::to_string(s.vpp) + " t_f:t_b=" + std::to_string(ratio.forward) + ":" +
           std::to_string(ratio.backward);
}

PerPosition<TimeNs> sums(const std::vector<Bubble>& bubbles) {
    PerPosition<TimeNs> total{};
    for (const Bubble& bubble : bubbles)
        total[positionIndex(bubble.position)] += bubble.duration();
    return total;
}

/// Compares one case and returns how many values were compared.
int compare(const ScheduleSpec& spec, Ratio ratio) {
    const Schedule schedule = makeSchedule(spec).value();
    const CostModel model = costs(ratio);
    const ClosedForm form = closedForm(schedule, model).value();
    const StepTimeline executed = simulate(schedule, model).value();
    const StepTimeline gathered = consolidate(executed, form.beforeSteady());
    const auto raw = findBubbles(executed);
    const auto bubbles = findBubbles(gathered);
    const std::string where = label(schedule, ratio);

    EXPECT_EQ(executed.wall(), form.makespan) << where;
    EXPECT_EQ(gathered.wall(), executed.wall()) << where;
    int compared = 1;
    for (int s = 0; s < schedule.pp; ++s) {
        const Rank rank{s};
        const auto observed = sums(bubbles[rank.index()]);
        const auto total = std::accumulate(observed.begin(), observed.end(), TimeNs{0});
        const auto as_executed = sums(raw[rank.index()]);
        EXPECT_EQ(total, form.bubble[rank.index()]) << where << " rank " << s;
        EXPECT_EQ(total, std::accumulate(as_executed.begin(), as_executed.end(), TimeNs{0})) << where << " rank " << s;
        for (std::size_t i = 0; i < kPositionCount; ++i) {
            const auto position = static_cast<Position>(i);
            EXPECT_EQ(observed[i], form.at(rank, position)) << where << " rank " << s << " " << positionName(position);
            ++compared;
        }
        ++compared;
    }
    return compared;
}

TEST(ClosedForms, FThenBEqualsSimulation) {
    int compared = 0;
    for (int p = 1; p <= 16; ++p)
        for (int m : {1, 2, 3, 5, 8, 15, 16, 17, 33, 64})
            for (const Ratio ratio : kRatios)
                compared += compare({"fthenb", "", p, m, 1}, ratio);
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 10'000);
}

TEST(ClosedForms, OneFOneBEqualsSimulation) {
    int compared = 0;
    for (int p = 1; p <= 16; ++p)
        for (int m : {1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 18, 33, 64})
            for (const Ratio ratio : kRatios)
                compared += compare({"1f1b", "", p, m, 1}, ratio);
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 10'000);
}

TEST(ClosedForms, InterleavedEqualsSimulation) {
    int compared = 0;
    for (int p = 1; p <= 16; ++p)
        for (int groups = 1; groups <= 4; ++groups)
            for (int v = 2; v <= 6; ++v)
                for (const Ratio ratio : kRatios)
                    compared += compare({"interleaved", "", p, groups * p, v}, ratio);
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 10'000);
}

TEST(ClosedForms, BoundsWhereTheyDoNotHold) {
    const Schedule schedule = makeSchedule({"1f1b", "", 4, 8, 1}).value();
    CostModel with_comm = costs({1, 2});
    with_comm.comm = TimeNs{1};
    EXPECT_EQ(closedForm(schedule, with_comm).value().kind, FormKind::LowerBound);

    CostModel unequal = costs({1, 2});
    unequal.stages.assign(4, unequal.times);
    EXPECT_FALSE(closedForm(schedule, unequal).value().exact());

    Schedule custom = schedule;
    custom.name = "custom";
    EXPECT_FALSE(closedForm(custom, costs({1, 2})).value().exact());

    Schedule outside = makeSchedule({"interleaved", "", 4, 8, 2}).value();
    outside.microbatches = 9;
    EXPECT_FALSE(closedForm(outside, costs({1, 2})).ok()) << "an invalid order";
}

} // namespace
} // namespace bubblescope
