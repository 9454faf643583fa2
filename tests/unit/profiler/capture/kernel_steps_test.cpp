#include "profiler/capture/kernel_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace bubblescope::profiler::kernel_steps_test {
namespace {

using Kind = cupti::Activity::Kind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TimeNs inMs(std::int64_t count) {
    return std::chrono::milliseconds(count);
}

cupti::Activity activity(Kind kind, std::int64_t at_ms, std::uint32_t correlation) {
    cupti::Activity out;
    out.kind = kind;
    out.start = inMs(at_ms);
    out.end = inMs(at_ms + 1);
    out.correlation = correlation;
    return out;
}

std::vector<std::int64_t> numbers(const std::vector<KernelSteps::Step>& steps) {
    std::vector<std::int64_t> out;
    for (const KernelSteps::Step& step : steps)
        out.push_back(step.number);
    return out;
}

/// Steps of 100 ms, seen with up to 30 ms of delay; CUPTI follows at once.
class KernelStepsTest : public testing::Test {
protected:
    void begin(std::int64_t number) {
        steps_.border("step " + std::to_string(number), number, inMs(100 * number));
        follow(inMs(100 * number + 10));
    }
    void follow(TimeNs now) {
        steps_.setOn(steps_.wanted(), now);
        on_ += steps_.isOn() ? '1' : '0';
    }

    KernelSteps steps_{5, inMs(30)};
    std::string on_;
};

TEST_F(KernelStepsTest, CuptiIsOnFromTheStepBeforeToTheStepAfter) {
    steps_.setOn(true, inMs(-50));
    for (int step = 0; step < 12; ++step)
        begin(step);
    EXPECT_EQ(on_, "110011100111") << "steps 0, 5 and 10 are chosen; the length of steps is known from step 1 on";
    EXPECT_THAT(numbers(steps_.takeRecorded()), ElementsAre(0, 5, 10));
    EXPECT_EQ(steps_.takeNotice(inMs(1200)), "");
}

TEST_F(KernelStepsTest, AStepCountsOnlyIfCuptiWasOnAllTheTime) {
    begin(4);
    steps_.setOn(false, inMs(420));
    steps_.border("step 5", 5, inMs(500));
    steps_.setOn(true, inMs(510)); // too late
    steps_.border("step 6", 6, inMs(600));
    EXPECT_THAT(steps_.takeRecorded(), IsEmpty());
    EXPECT_FALSE(steps_.keeps(activity(Kind::Kernel, 520, 1)));
    steps_.border("step 9", 9, inMs(900));
    steps_.border("step 10", 10, inMs(1000));
    steps_.setOn(false, inMs(1050)); // another tool takes CUPTI
    steps_.border("step 11", 11, inMs(1100));
    EXPECT_THAT(steps_.takeRecorded(), IsEmpty());
}

TEST_F(KernelStepsTest, KeepsCallsOfTheStepAndTheirKernels) {
    steps_.setOn(true, inMs(-50));
    begin(0);
    begin(1);
    EXPECT_TRUE(steps_.keeps(activity(Kind::Kernel, -20, 1))) << "before the first step";
    EXPECT_TRUE(steps_.keeps(activity(Kind::Runtime, 10, 2)));
    EXPECT_TRUE(steps_.keeps(activity(Kind::Runtime, 99, 3)));
    EXPECT_TRUE(steps_.keeps(activity(Kind::Kernel, 101, 2))) << "launched in step 0, runs in step 1";
    EXPECT_FALSE(steps_.keeps(activity(Kind::Runtime, 102, 4)));
    EXPECT_TRUE(steps_.keeps(activity(Kind::Kernel, 103, 3)));
    EXPECT_FALSE(steps_.keeps(activity(Kind::Kernel, 104, 4))) << "launched in step 1";
    EXPECT_FALSE(steps_.keeps(activity(Kind::Synchronization, 104, 5)));
    cupti::Activity allocation = activity(Kind::Allocation, 150, 6);
    EXPECT_TRUE(steps_.keeps(allocation)) << "memory is counted in all steps";
}

TEST_F(KernelStepsTest, OnlyOneKindOfMarkBeginsSteps) {
    steps_.setOn(true, inMs(-50));
    steps_.border("iteration 5", 5, inMs(0));
    steps_.border("step 4", 4, inMs(1));      // the framework's own counter
    steps_.border("iteration 5", 5, inMs(2)); // of another thread
    steps_.border("iteration 6", 6, inMs(100));
    const auto recorded = steps_.takeRecorded();
    ASSERT_EQ(recorded.size(), 1U);
    EXPECT_EQ(recorded[0].start, inMs(0));
    EXPECT_EQ(recorded[0].end, inMs(100));
}

TEST_F(KernelStepsTest, AnEvaluationAndTheEndOfTheProcessEndAStep) {
    steps_.setOn(true, inMs(-50));
    begin(0);
    steps_.border("evaluation", std::nullopt, inMs(60));
    begin(5);
    steps_.finish(inMs(530));
    const auto recorded = steps_.takeRecorded();
    ASSERT_EQ(recorded.size(), 2U);
    EXPECT_EQ(recorded[0].end, inMs(60));
    EXPECT_EQ(recorded[1].end, inMs(530));
}

TEST(KernelSteps, WithoutStepsEverythingIsKeptAndTheUserIsTold) {
    KernelSteps steps(5, inMs(30));
    EXPECT_TRUE(steps.wanted());
    steps.setOn(true, inMs(0));
    steps.border("evaluation", std::nullopt, inMs(60));
    EXPECT_TRUE(steps.keeps(activity(Kind::Kernel, 5000, 1)));
    EXPECT_FALSE(steps.applies());
    EXPECT_EQ(steps.takeNotice(inMs(59'000)), "");
    EXPECT_THAT(steps.takeNotice(inMs(61'000)), HasSubstr("no step has begun, so all kernels are recorded"));
    EXPECT_EQ(steps.takeNotice(inMs(62'000)), "") << "once";
}

TEST(KernelSteps, ShortStepsLeaveCuptiOnAndTheUserIsTold) {
    KernelSteps steps(5, inMs(110));
    steps.setOn(true, inMs(-50));
    for (int step = 0; step < 20; ++step) {
        steps.border("step " + std::to_string(step), step, inMs(10 * step));
        EXPECT_TRUE(steps.wanted());
    }
    EXPECT_THAT(steps.takeNotice(inMs(200)), HasSubstr("steps of 10 ms are too short"));
    EXPECT_THAT(numbers(steps.takeRecorded()), ElementsAre(0, 5, 10, 15)) << "the trace is as asked for all the same";
}

TEST(KernelSteps, AProcessWithoutCuptiDoesNotApply) {
    KernelSteps steps(5, inMs(30));
    steps.border("step 0", 0, inMs(0));
    EXPECT_FALSE(steps.applies());
    EXPECT_EQ(steps.takeNotice(inMs(100'000)), "");
}

} // namespace
} // namespace bubblescope::profiler::kernel_steps_test
