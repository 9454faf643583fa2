#include "core/aadiff/check_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace bubblescope {
namespace {

using namespace std::chrono_literals;

/// Steps of 10 ms without the work, which takes `cost` of each that carries it; those that do.
std::vector<int> carrying(CheckCost& work, TimeNs cost, int steps) {
    std::vector<int> carry;
    TimeNs now{0};
    for (int step = 0; step < steps; ++step) {
        work.beginStep(step, now);
        now += 10ms;
        if (!work.done()) continue;
        carry.push_back(step);
        work.spend(cost);
        now += cost;
    }
    return carry;
}

TEST(CheckCost, KeepsToItsShareOfTheTime) {
    for (const double share : {0.001, 0.003, 0.01}) {
        for (const TimeNs cost : {TimeNs(10us), TimeNs(100us), TimeNs(500us)}) {
            CheckCost work(share);
            constexpr int kSteps = 4096;
            const std::size_t before = carrying(work, cost, kSteps).size();
            const double spent = static_cast<double>(before) * static_cast<double>(cost.count());
            const double first = static_cast<double>(CheckCost::kTried) * static_cast<double>(cost.count());
            EXPECT_LE(spent, share * kSteps * 10.6e6 + first) << share << " " << cost.count();
            EXPECT_GT(before, std::size_t{CheckCost::kTried});
        }
    }
}

TEST(CheckCost, StepsThatAreRarerAreAmongThoseThatAreNot) {
    CheckCost often(0.01);
    CheckCost seldom(0.001);
    const std::vector<int> many = carrying(often, 100us, 2000);
    const std::vector<int> few = carrying(seldom, 100us, 2000);
    EXPECT_LT(few.size(), many.size());
    EXPECT_TRUE(std::ranges::includes(many, few)) << "so that what different ranks send and record can be compared";
    EXPECT_EQ(seldom.interval() & (seldom.interval() - 1), 0);
}

TEST(CheckCost, WithoutALimitEveryStepCarriesTheWork) {
    CheckCost work(1);
    EXPECT_EQ(carrying(work, 50ms, 100).size(), 100U);
    EXPECT_EQ(work.interval(), 1);
}

TEST(CheckCost, WorkThatBecomesCheaperIsDoneMoreOften) {
    CheckCost work(0.003);
    TimeNs now{0};
    int early = 0;
    int late = 0;
    for (int step = 0; step < 4000; ++step) {
        work.beginStep(step, now += 10ms);
        if (!work.done()) continue;
        work.spend(step < 1000 ? 200us : 20us);
        (step < 1000 ? early : late) += 1;
    }
    EXPECT_GT(late, 6 * early) << "three times the steps, a tenth of the cost";
}

/// Steps of 10 ms, or longer by `cost` with checks; every tenth one is held up by something else. Returns those with.
std::vector<int> checked(CheckedSteps& steps, TimeNs cost, int count) {
    std::vector<int> with;
    TimeNs now{0};
    for (int step = 0; step < count; ++step) {
        steps.beginStep(step, now);
        now += step % 10 == 9 ? 200ms : 10ms;
        if (!steps.done()) continue;
        with.push_back(step);
        now += cost;
    }
    return with;
}

TEST(CheckedSteps, KeepTheMeanStepWithinAShare) {
    for (const double share : {0.003, 0.01, 0.1}) {
        for (const TimeNs cost : {TimeNs(20us), TimeNs(1ms), TimeNs(15ms)}) {
            CheckedSteps steps(share);
            constexpr int kSteps = 1 << 14;
            const auto with = static_cast<double>(checked(steps, cost, kSteps).size());
            const double first = 1 + (CheckedSteps::kTried - CheckedSteps::kFirst) / 2.0;
            EXPECT_LE((with - first) * static_cast<double>(cost.count()), share * kSteps * 10e6 * 1.01)
                << share << " " << cost.count();
            EXPECT_GT(with, first);
        }
    }
}

TEST(CheckedSteps, AtLeastEveryOtherStepGoesWithout) {
    CheckedSteps steps(0.003);
    const std::vector<int> with = checked(steps, 0us, 1000);
    EXPECT_EQ(with.size(), 1U + (1000 - CheckedSteps::kFirst) / 2) << "they show how long bubbles are";
    EXPECT_EQ(with[1], CheckedSteps::kFirst) << "before, bubbles are not known";
    EXPECT_TRUE(steps.isDue(1000));
    EXPECT_FALSE(steps.isDue(1001));
}

TEST(CheckedSteps, ThoseThatAreRarerAreAmongThoseThatAreNot) {
    CheckedSteps often(0.1);
    CheckedSteps seldom(0.003);
    const std::vector<int> many = checked(often, 2ms, 4000);
    const std::vector<int> few = checked(seldom, 2ms, 4000);
    EXPECT_LT(few.size(), many.size());
    EXPECT_TRUE(std::ranges::includes(many, few));
}

TEST(CheckedSteps, WithoutALimitEveryStepIsChecked) {
    CheckedSteps steps(1);
    EXPECT_FALSE(steps.limits());
    EXPECT_EQ(checked(steps, 50ms, 100).size(), 100U);
}

} // namespace
} // namespace bubblescope
