#include "core/recognise/match_schedule.h"

#include "core/cost/measured_times.h"
#include "core/graph/simulate.h"
#include "tests/unit/recognise/step_maker.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

Schedule observedOrder(const std::string& name, int pp, int microbatches, int vpp = 1) {
    return executedOrder(test::packedStep(test::scheduleOf(name, pp, microbatches, vpp), 0, TimeNs{0}));
}

TEST(MatchSchedule, NamesTheFamiliesItKnows) {
    EXPECT_EQ(matchSchedule(observedOrder("fthenb", 4, 8)).schedule.name, "fthenb");
    EXPECT_EQ(matchSchedule(observedOrder("1f1b", 4, 8)).schedule.name, "1f1b");
    const ScheduleMatch match = matchSchedule(observedOrder("interleaved", 4, 8, 2));
    EXPECT_EQ(match.schedule.name, "interleaved");
    EXPECT_FALSE(match.departure.has_value());
}

TEST(MatchSchedule, TellsWhereAnOrderLeavesTheClosest) {
    Schedule observed = observedOrder("1f1b", 4, 8);
    std::swap(observed.ranks[2][5], observed.ranks[2][6]);
    const ScheduleMatch match = matchSchedule(observed);
    EXPECT_EQ(match.schedule.name, "custom");
    EXPECT_EQ(match.schedule.ranks, observed.ranks);
    EXPECT_EQ(match.closest, "1f1b");
    ASSERT_TRUE(match.departure.has_value());
    EXPECT_EQ(match.departure->rank, Rank{2});
    EXPECT_EQ(match.departure->index, 5U);
    EXPECT_EQ(match.departure->observed, observed.ranks[2][5]);
    EXPECT_EQ(match.departure->expected, observed.ranks[2][6]);
}

/// Orders that depend on more than p, m and v.
TEST(MatchSchedule, FindsGroupsLimitsAndTimesByWhatTheyMakeOfTheOrder) {
    ScheduleSpec grouped{"interleaved", "megatron", 4, 12, 2};
    grouped.group_size = 6;
    ScheduleSpec limited{"zb-v", "greedy", 4, 12, 2};
    limited.memory_limit = 10;
    ScheduleSpec timed{"zb-v", "greedy", 4, 12, 2};
    timed.times = makeOpTimes(TimeNs{1'000'000}, {}, TimeNs{1'800'000}, TimeNs{300'000}).value();
    timed.comm = TimeNs{100'000};
    ScheduleSpec both = timed;
    both.name = "zb-auto";
    both.flavor = "";
    both.vpp = 1;
    both.memory_limit = 6;
    for (const ScheduleSpec& spec : {grouped, limited, timed, both}) {
        const Schedule schedule = makeSchedule(spec).value();
        ScheduleSpec plain = spec;
        plain.group_size = plain.memory_limit = 0;
        plain.times = ScheduleSpec{}.times;
        plain.comm = TimeNs{0};
        EXPECT_NE(makeSchedule(plain).value().ranks, schedule.ranks) << "the parameters should matter";

        CostModel costs;
        costs.times = spec.times;
        costs.comm = spec.comm;
        const StepTimeline step = simulate(schedule, costs).value();
        Schedule observed = executedOrder(step);
        observed.name = spec.name;
        const ScheduleMatch match = matchSchedule(observed, typicalCosts(step));
        EXPECT_EQ(match.schedule.name, spec.name);
        EXPECT_FALSE(match.departure.has_value());
    }
}

TEST(MatchSchedule, FindsMemoryLimitsThatNobodyNames) {
    for (const auto& [name, limit] : {std::pair<std::string, int>{"zb-auto", 5}, {"zb-auto", 6}}) {
        ScheduleSpec spec{name, "", 4, 10, 1};
        spec.memory_limit = limit;
        Schedule observed = makeSchedule(spec).value();
        observed.name = "custom";
        observed.flavor.clear();
        const ScheduleMatch match = matchSchedule(observed);
        EXPECT_NE(match.schedule.name, "custom") << name << ' ' << limit;
        EXPECT_FALSE(match.departure.has_value());
    }
}

TEST(MatchSchedule, KnowsNoFamilyForAnUnknownPlacement) {
    Schedule observed = observedOrder("interleaved", 2, 4, 2);
    observed.placement = Placement::V;
    const ScheduleMatch match = matchSchedule(observed);
    EXPECT_EQ(match.schedule.name, "custom");
    EXPECT_EQ(match.schedule.placement, Placement::V);
}

} // namespace
} // namespace bubblescope
