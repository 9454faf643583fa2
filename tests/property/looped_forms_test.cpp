// The closed forms of eager 1F1B and the looped families against simulation.

#include "core/bubble/closed_form.h"
#include "core/schedule/validate.h"
#include "core/simulate/simulate.h"
#include "tests/property/form_check.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope {
namespace {

using test::compareWithSimulation;
using test::kRatios;
using test::Ratio;
using test::wholeTimes;

TEST(LoopedForms, EagerEqualsSimulation) {
    int compared = 0;
    for (int p = 1; p <= 16; ++p)
        for (int m : {1, 2, 3, 5, 8, 13, 15, 16, 17, 31, 33, 64})
            for (const Ratio ratio : kRatios)
                compared += compareWithSimulation({"eager-1f1b", "", p, m, 1}, wholeTimes(ratio));
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 10'000);
}

TEST(LoopedForms, BreadthFirstEqualsSimulation) {
    int compared = 0;
    for (const char* const flavor : {"breadth-first", "torch"})
        for (int p = 1; p <= 16; ++p)
            for (int m : {1, 3, 8, 15, 17, 32})
                for (int v : {1, 2, 6})
                    for (const Ratio ratio : kRatios)
                        compared += compareWithSimulation({"looped-bfs", flavor, p, m, v}, wholeTimes(ratio));
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 10'000);
}

int compareInterleaved(const std::string& flavor, int p, int m, int v, int group_size = 0) {
    ScheduleSpec spec{"interleaved", flavor, p, m, v};
    spec.group_size = group_size;
    int compared = 0;
    for (const Ratio ratio : kRatios)
        compared += compareWithSimulation(spec, wholeTimes(ratio));
    return compared;
}

TEST(LoopedForms, InterleavedBalancedEqualsSimulation) {
    int compared = 0;
    for (const char* const flavor : {"balanced", "merged"})
        for (int p = 1; p <= 16; p += p < 6 ? 1 : 5)
            for (int m = p; m <= std::min(64, 3 * p + 2); m += p < 6 ? 1 : 3)
                for (int v : {2, 3, 6})
                    compared += compareInterleaved(flavor, p, m, v);
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 10'000);
}

TEST(LoopedForms, InterleavedWithEveryLegalGroupSizeEqualsSimulation) {
    int compared = 0;
    for (int p = 1; p <= 5; ++p)
        for (int m = p; m <= 3 * p + 3; ++m)
            for (int n = p; n <= m; ++n)
                for (int v = 2; v <= 3; ++v)
                    if (m % n == 0 || m % n >= p) compared += compareInterleaved("megatron", p, m, v, n);
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 10'000);
}

TEST(LoopedForms, InterleavedOfFrameworksEqualsSimulation) {
    int compared = 0;
    for (int p = 3; p <= 12; p += 3) {
        for (int v : {2, 3, 6}) {
            for (int m = 2 * p; m <= 3 * p + 2; ++m) {
                compared += compareInterleaved("paddle-dynamic", p, m, v);
                compared += compareInterleaved("paddle-dynamic-best-unbalanced", p, m, v);
                if (m % (m / p) == 0) compared += compareInterleaved("torch", p, m, v);
            }
            for (int m = p; m <= 4 * p; m += p)
                compared += compareInterleaved("paddle-static", p, m, v);
        }
        compared += compareInterleaved("torch", p, 2 * p + 2, 1);
    }
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 10'000);
}

TEST(LoopedForms, PaddlesOrdersForFewMicrobatchesEqualSimulation) {
    int compared = 0;
    for (const char* const family : {"interleaved-fthenb", "vpp-balanced-memory"})
        for (int p = 3; p <= 16; p += p < 6 ? 1 : 5)
            for (int m = p; m < 2 * p; m += p < 6 ? 1 : 2)
                for (int v : {2, 3, 6})
                    for (const Ratio ratio : kRatios)
                        compared += compareWithSimulation({family, "", p, m, v}, wholeTimes(ratio));
    RecordProperty("compared", compared);
    EXPECT_GT(compared, 10'000);
    EXPECT_EQ(peakActivations(makeSchedule({"vpp-balanced-memory", "", 4, 6, 3}).value()),
              (std::vector<int>{16, 15, 14, 13}));
}

/// With a group smaller than p there is only a bound, and the bubble is never less than with balanced groups.
TEST(LoopedForms, InterleavedWithASmallGroupIsBoundedAndNoBetter) {
    int bounded = 0;
    for (int p = 2; p <= 8; ++p) {
        for (int m = p + 1; m <= 3 * p; ++m) {
            for (int v = 2; v <= 4 && m % p != 0; ++v) {
                const Schedule schedule = makeSchedule({"interleaved", "unbalanced", p, m, v}).value();
                CostModel costs;
                costs.times = wholeTimes({2, 3});
                const auto form = closedForm(schedule, costs);
                const auto step = simulate(schedule, costs);
                EXPECT_EQ(form.ok(), step.ok());
                if (!step.ok()) continue; // deadlock
                ++bounded;
                EXPECT_EQ(form.value().kind, FormKind::LowerBound);
                EXPECT_LE(form.value().makespan, step.value().wall());
                EXPECT_GE(step.value().wall(), TimeNs{(m * v + p - 1) * 5});
            }
        }
    }
    EXPECT_GT(bounded, 80);
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
    EXPECT_NE(problems[0].message.find("F4.2"), std::string::npos) << problems[0].message;
    EXPECT_NE(problems[0].message.find("B0.1"), std::string::npos) << problems[0].message;
    EXPECT_FALSE(simulate(schedule, CostModel{}).ok());
}

} // namespace
} // namespace bubblescope
