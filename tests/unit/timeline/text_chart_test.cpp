#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/timeline/text_chart.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

TEST(TextChart, DrawsOpsAndBubblesToScale) {
    const Schedule schedule = makeSchedule({"1f1b", "", 2, 2, 1}).value();
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{1'000}, TimeNs{2'000}, {}, {}).value();
    const StepTimeline step = simulate(schedule, costs).value();
    EXPECT_EQ(textChart(step), "rank 0 | F0 F1 .  .  B0 -  .  B1 -\n"
                               "rank 1 | .  F0 B0 -  F1 B1 -  .  .\n");
}

TEST(TextChart, GivesWayToTheOrderWhenTooWide) {
    const Schedule schedule = makeSchedule({"fthenb", "", 2, 2, 1}).value();
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{1'000}, TimeNs{2'001}, {}, {}).value();
    EXPECT_EQ(textChart(simulate(schedule, costs).value()), "");
    EXPECT_EQ(orderText(schedule), "rank 0 | F0 F1 B0 B1\nrank 1 | F0 F1 B0 B1\n");
}

} // namespace
} // namespace bubblescope
