// Every schedule that a family accepts is valid; every accepted order can be simulated.

#include "core/schedule/registry.h"
#include "core/schedule/validate.h"
#include "core/simulate/simulate.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

TEST(Schedules, EveryAcceptedSpecIsValidAndRuns) {
    int accepted = 0;
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{2}, TimeNs{3}, {}, {}).value();
    costs.comm = TimeNs{1};
    for (const ScheduleFamily& family : scheduleFamilies()) {
        for (int p = 1; p <= 8; ++p) {
            for (int m = 1; m <= 17; ++m) {
                for (int v = 1; v <= 4; ++v) {
                    const auto schedule = makeSchedule({std::string(family.name), "", p, m, v});
                    if (!schedule.ok()) continue;
                    ++accepted;
                    const auto problems = validate(schedule.value());
                    ASSERT_TRUE(problems.empty())
                        << family.name << " p=" << p << " m=" << m << " v=" << v << ": " << problems.front().message;
                    ASSERT_TRUE(simulate(schedule.value(), costs).ok());
                }
            }
        }
    }
    EXPECT_GT(accepted, 300);
}

TEST(Schedules, ActivationPeaksAreTheKnownOnes) {
    for (int p = 1; p <= 8; ++p) {
        for (int m = 1; m <= 16; ++m) {
            const auto f_then_b = peakActivations(makeSchedule({"fthenb", "", p, m, 1}).value());
            const auto one_f_one_b = peakActivations(makeSchedule({"1f1b", "", p, m, 1}).value());
            for (int s = 0; s < p; ++s) {
                EXPECT_EQ(f_then_b[Rank{s}.index()], m);
                EXPECT_EQ(one_f_one_b[Rank{s}.index()], std::min(m, p - s));
            }
            for (int v = 2; v <= 3 && m % p == 0; ++v) {
                const auto interleaved = peakActivations(makeSchedule({"interleaved", "", p, m, v}).value());
                for (int s = 0; s < p; ++s) {
                    EXPECT_EQ(interleaved[Rank{s}.index()], std::min(m * v, 2 * (p - s - 1) + (v - 1) * p + 1));
                }
            }
        }
    }
}

} // namespace
} // namespace bubblescope
