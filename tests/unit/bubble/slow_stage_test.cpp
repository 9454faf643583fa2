#include "core/diagnose/slow_stage.h"
#include "core/schedule/registry.h"
#include "core/simulate/simulate.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

std::vector<StepTimeline> steps(int slow_stage, int factor_percent) {
    CostModel costs;
    for (int s = 0; s < 8; ++s) {
        const int factor = s == slow_stage ? factor_percent : 100;
        costs.stages.push_back(makeOpTimes(TimeNs{10 * factor}, TimeNs{20 * factor}, {}, {}).value());
    }
    return {simulate(makeSchedule({"interleaved", "", 4, 8, 2}).value(), costs).value()};
}

TEST(SlowStage, NamesTheOddOne) {
    const auto run = steps(7, 300);
    const auto found = findSlowStages(stageTimes(run), 8, run[0].wall());
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].rank, Rank{3});
    EXPECT_EQ(found[0].severity, Severity::Serious);
    EXPECT_NE(found[0].message.find("rank 3, chunk 1 (stage 7)"), std::string::npos) << found[0].message;
    EXPECT_EQ(found[0].evidence.back(), (std::pair<std::string, double>{"excess_per_step_ns", 8 * 2 * 3000.0}));
}

TEST(SlowStage, StaysQuietOnEqualAndSlightlySlowerStages) {
    EXPECT_TRUE(findSlowStages(stageTimes(steps(7, 100)), 8, TimeNs{1}).empty());
    EXPECT_TRUE(findSlowStages(stageTimes(steps(7, 140)), 8, TimeNs{1}).empty());
    EXPECT_TRUE(findSlowStages({}, 8, TimeNs{1}).empty());
}

} // namespace
} // namespace bubblescope
