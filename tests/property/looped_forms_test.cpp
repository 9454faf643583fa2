// Interleaved orders: every legal group size against simulation, and the original paper's statements about a remainder.

#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/theory/closed_form.h"
#include "tests/property/form_check.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

using test::compareWithSimulation;
using test::kRatios;
using test::Ratio;
using test::wholeTimes;

TEST(LoopedForms, InterleavedWithEveryLegalGroupSizeEqualsSimulation) {
    int compared = 0;
    for (int p = 1; p <= 5; ++p)
        for (int m = p; m <= 3 * p + 3; ++m)
            for (int n = p; n <= m; ++n)
                for (int v = 2; v <= 3; ++v)
                    if (m % n == 0 || m % n >= p) {
                        ScheduleSpec spec{"interleaved", "megatron", p, m, v};
                        spec.group_size = n;
                        for (const Ratio ratio : kRatios)
                            compared += compareWithSimulation(spec, wholeTimes(ratio));
                    }
    test::reportCompared(compared);
    EXPECT_GT(compared, 10'000);
}

double simulatedRate(const char* flavor, Ratio ratio) {
    CostModel costs;
    costs.times = wholeTimes(ratio);
    const StepTimeline step = simulate(makeSchedule({"interleaved", flavor, 4, 9, 2}).value(), costs).value();
    const auto capacity = static_cast<double>(step.wall().count()) * 4;
    return 1 - 4 * 9 * 2 * static_cast<double>(ratio.forward + ratio.backward) / capacity;
}

TEST(LoopedForms, BalancedGroupsCutTheBubbleOfNineMicrobatchesOnFourRanks) {
    EXPECT_NEAR(simulatedRate("unbalanced", {1, 1}), 12.0 / 48, 1e-12);
    EXPECT_NEAR(simulatedRate("unbalanced", {2, 3}), 32.0 / 122, 1e-12);
    EXPECT_NEAR(simulatedRate("unbalanced", {1, 2}), 20.0 / 74, 1e-12);
    for (const Ratio ratio : {Ratio{1, 1}, Ratio{2, 3}, Ratio{1, 2}})
        EXPECT_NEAR(simulatedRate("balanced", ratio), 1.0 / 7, 1e-12);
}

TEST(LoopedForms, PaddlesStaticOrderIsShownToDeadlock) {
    const Schedule schedule = makeSchedule({"interleaved", "paddle-static", 4, 5, 3}).value();
    const auto problems = validate(schedule);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].kind, "deadlock");
    EXPECT_NE(problems[0].message.text().find("F4.2"), std::string::npos) << problems[0].message.text();
    EXPECT_NE(problems[0].message.text().find("B0.1"), std::string::npos) << problems[0].message.text();
    EXPECT_FALSE(simulate(schedule, CostModel{}).ok());
}

} // namespace
} // namespace bubblescope
