// Every schedule that a family accepts is valid; every accepted order can be simulated.

#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope {
namespace {

/// Orders that are in use, or were, although some of them deadlock.
bool mayDeadlock(std::string_view flavor) {
    return flavor == "paddle-static" || flavor == "unbalanced";
}

/// The specs of one family and flavor; returns how many it accepts.
int expectAllRun(const ScheduleFamily& family, std::string_view flavor) {
    int accepted = 0;
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{2}, TimeNs{3}, {}, {}).value();
    costs.comm = TimeNs{1};
    for (int p = 1; p <= 8; ++p) {
        for (int m = 1; m <= 17; ++m) {
            for (int v = 1; v <= 4; ++v) {
                const auto schedule = makeSchedule({std::string(family.name), std::string(flavor), p, m, v});
                if (!schedule.ok()) continue;
                ++accepted;
                const auto problems = validate(schedule.value());
                EXPECT_TRUE(problems.empty()) << family.name << " " << flavor << " p=" << p << " m=" << m << " v=" << v
                                              << ": " << problems.front().message.text();
                EXPECT_TRUE(simulate(schedule.value(), costs).ok());
            }
        }
    }
    return accepted;
}

TEST(Schedules, EveryAcceptedSpecIsValidAndRuns) {
    int accepted = 0;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        if (family.flavors.empty()) accepted += expectAllRun(family, "");
        for (const std::string_view flavor : family.flavors)
            if (!mayDeadlock(flavor)) accepted += expectAllRun(family, flavor);
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

TEST(Schedules, OrdersAlongAVHoldWhatTheirPatternsHold) {
    for (int p = 1; p <= 16; ++p) {
        for (const int m : {2 * p, 3 * p + 1}) {
            const auto most = [&](const char* family) {
                return std::ranges::max(peakActivations(makeSchedule({family, "", p, m, 2}).value()));
            };
            EXPECT_EQ(most("v-half"), 2 * ((p + 2) / 2));
            EXPECT_EQ(most("v-min"), 2 * ((p + 4) / 3));
            EXPECT_EQ(most("v-1f1b"), 2 * (2 * p / 3 + 1));
        }
    }
}

} // namespace
} // namespace bubblescope
