#include "core/recognise/match_schedule.h"
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

TEST(MatchSchedule, KnowsNoFamilyForAnUnknownPlacement) {
    Schedule observed = observedOrder("interleaved", 2, 4, 2);
    observed.placement = Placement::V;
    const ScheduleMatch match = matchSchedule(observed);
    EXPECT_EQ(match.schedule.name, "custom");
    EXPECT_EQ(match.schedule.placement, Placement::V);
}

} // namespace
} // namespace bubblescope
