#include "core/aadiff/measured_plan.h"

#include "core/families/registry.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <set>

namespace bubblescope {
namespace {

using namespace std::chrono_literals;

/// The plan of a rank of 1F1B with two layers a stage, each of which takes a millisecond, and invented steps.
class MeasuredPlans : public ::testing::Test {
protected:
    MeasuredPlans() {
        CostModel times;
        times.times = {1ms, 2ms, 1ms, 1ms, 0ms};
        PlanLimits limits;
        limits.layers.assign(4, 2);
        const AadiffStudy study = studyAadiff(schedule_, times, limits).value();
        plan_.emplace(study.timeline(), schedule_, kRank, limits,
                      [](OpKind, Stage, int) { return std::optional<TimeNs>(1ms); });
    }

    [[nodiscard]] std::size_t end() const { return schedule_.ranks[kRank.index()].size(); }

    /// A step in which the rank waits before the op at `index`, and a core is free for it, long enough that this much
    /// of it is used.
    bool step(std::size_t index, TimeNs used, bool cores_short = false, TimeNs free_used = 0ms) {
        const TimeNs wait = used * BubbleForecast::kParts / BubbleForecast::kUsedParts;
        const TimeNs free = free_used * BubbleForecast::kParts / BubbleForecast::kUsedParts;
        const bool first = plan_->beginStep(true);
        now_ += 1s;
        plan_->idleSince(index, now_);
        if (plan_->measures()) {
            plan_->setCoresShort(cores_short);
            if (cores_short) plan_->freeUntil(index, now_ + free);
        }
        plan_->inputsReady(index, now_ + wait);
        return first;
    }

    static constexpr Rank kRank{1};
    Schedule schedule_ = makeSchedule({"1f1b", "", 4, 8, 1}).value();
    std::optional<MeasuredPlan> plan_;
    TimeNs now_{0};
};

TEST_F(MeasuredPlans, MeasureFirstAndThenFillWhatWasIdle) {
    for (int i = 0; i < MeasuredPlan::kMeasuredSteps; ++i) {
        EXPECT_FALSE(step(end(), 5ms));
        EXPECT_TRUE(plan_->measures());
        EXPECT_TRUE(plan_->checks().empty());
    }
    EXPECT_TRUE(step(end(), 5ms)) << "the first plan";
    EXPECT_FALSE(plan_->measures());
    ASSERT_TRUE(plan_->first());
    EXPECT_TRUE(plan_->first()->never.empty()) << "a layer's millisecond fits into five";
    EXPECT_EQ(plan_->room(end()), 5ms);
    // With a margin of a tenth four of a millisecond fit into five.
    EXPECT_EQ(plan_->checks().size(), 4U);
    for (const PlannedCheck& check : plan_->checks())
        EXPECT_EQ(plan_->slotBefore(end()), check.slot);
    EXPECT_FALSE(plan_->slotBefore(3));
}

TEST_F(MeasuredPlans, CountTheShortestOfTheLastBubbles) {
    for (int i = 0; i < MeasuredPlan::kMeasuredSteps; ++i)
        step(end(), i == 2 ? 2ms : 5ms);
    step(end(), 5ms);
    EXPECT_EQ(plan_->room(end()), 2ms);
    EXPECT_EQ(plan_->checks().size(), 1U);
    for (std::size_t i = 0; i < BubbleForecast::kLast; ++i)
        step(end(), 5ms);
    EXPECT_EQ(plan_->room(end()), 5ms) << "the short one is long ago";
    EXPECT_EQ(plan_->checks().size(), 4U);
}

TEST_F(MeasuredPlans, AreRenewedAtOnceWhereACheckDidNotFit) {
    for (int i = 0; i <= MeasuredPlan::kMeasuredSteps; ++i)
        step(end(), 5ms);
    step(end(), 1ms);
    EXPECT_EQ(plan_->checks().size(), 4U) << "the plan is that of before";
    plan_->missed(end());
    step(end(), 5ms);
    EXPECT_TRUE(plan_->checks().empty()) << "a millisecond and its margin do not fit into one";
}

TEST_F(MeasuredPlans, LeaveABubbleAloneIntoWhichChecksDoNotFit) {
    for (int i = 0; i <= MeasuredPlan::kMeasuredSteps; ++i)
        step(end(), 5ms);
    for (int i = 0; i < 4; ++i) {
        plan_->missed(end()); // though it was as long as before
        step(end(), 5ms);
    }
    EXPECT_EQ(plan_->room(end()), 0ms);
    EXPECT_TRUE(plan_->checks().empty());
    int steps = 0;
    for (; plan_->room(end()) == 0ms && steps < 1000; ++steps)
        step(end(), 5ms);
    EXPECT_GT(steps, 10);
    EXPECT_LT(steps, 100) << "it is tried again";
}

TEST_F(MeasuredPlans, OnlyMeasureInStepsWithoutChecks) {
    for (int i = 0; i <= MeasuredPlan::kMeasuredSteps; ++i)
        step(end(), 5ms);
    EXPECT_TRUE(plan_->repeats());
    EXPECT_FALSE(plan_->beginStep(false));
    EXPECT_FALSE(plan_->repeats());
    EXPECT_TRUE(plan_->checks().empty());
    EXPECT_EQ(plan_->room(end()), 5ms);
}

TEST_F(MeasuredPlans, CheckThoseNextThatWereCheckedLongestAgo) {
    for (int i = 0; i < MeasuredPlan::kMeasuredSteps; ++i)
        step(end(), 1200us); // room for one
    std::set<std::size_t> seen;
    const std::size_t units = [&] {
        step(end(), 1200us);
        return plan_->plan().units.size();
    }();
    ASSERT_GT(units, 3U);
    for (std::size_t i = 0; i < units; ++i) {
        ASSERT_EQ(plan_->checks().size(), 1U);
        seen.insert(plan_->checks().front().unit);
        plan_->checked(end(), plan_->checks().front().unit);
        step(end(), 1200us);
    }
    EXPECT_EQ(seen.size(), units);
}

TEST_F(MeasuredPlans, PlanNothingWhereOtherRanksKeepTheCoresBusy) {
    for (int i = 0; i < MeasuredPlan::kMeasuredSteps; ++i)
        step(end(), 20ms, true, 0ms);
    step(end(), 20ms, true);
    EXPECT_TRUE(plan_->checks().empty());
    EXPECT_EQ(plan_->first()->never.size(), plan_->first()->units.size()) << "and says so";
    // Later it looks again, until all that counts is new.
    for (int i = MeasuredPlan::kMeasuredSteps + 1; i < 3 * MeasuredPlan::kRound; ++i)
        step(end(), 20ms, true, 3ms);
    EXPECT_EQ(plan_->room(end()), 3ms);
    EXPECT_EQ(plan_->checks().size(), 2U);
}

} // namespace
} // namespace bubblescope
