#include "core/analysis/whatif/scenario.h"
#include "core/analysis/whatif/straggler_study.h"
#include "tests/support/shared_data.h"

#include <gtest/gtest.h>

#include <map>

namespace bubblescope::test {
namespace {

constexpr const char* kTimeline = "bytedance-straggler/timeline-ST.json.gz";

/// The result that the study's authors published for this trace.
constexpr double kSlowdown = 1.1787;
constexpr double kLaunchSlowdown = 1.0192;
constexpr double kWorkers = 0.0314;
constexpr double kLastStage = 1.2194;

/// The study takes all steps, warm-up as well.
StepSelection allSteps(const Run& run) {
    return selectSteps(run.steps, {{{run.steps.front().index, run.steps.back().index, {}}}, {}, {}}).value();
}

TEST(OutsideStragglerStudy, GivesThePublishedResultOfTheStTrace) {
    BUBBLESCOPE_NEED_TRACES("bytedance-straggler");
    JobControl control;
    const auto run = loadRun({realTrace(kTimeline)}, control);
    ASSERT_TRUE(run.ok());
    const auto model = runModel(run.value(), allSteps(run.value()));
    ASSERT_TRUE(model.ok());
    const StragglerStudy study = studyStragglers(model.value());
    EXPECT_NEAR(study.slowdown, kSlowdown, 1e-4);
    EXPECT_NEAR(1 + study.fit.launchDelay(), kLaunchSlowdown, 1e-4);
    EXPECT_NEAR(study.m_w.value(), kWorkers, 1e-4);
    EXPECT_NEAR(study.m_s.value(), kLastStage, 1e-4);
    ASSERT_EQ(study.by_pp.size(), 4U);
    EXPECT_NEAR(study.by_pp[0], 0.9980, 1e-4);
    EXPECT_NEAR(study.by_pp[1], 0.9831, 1e-4);
    EXPECT_NEAR(study.by_pp[2], 0.9825, 1e-4);
    EXPECT_NEAR(study.by_pp[3], 1.2323, 1e-4);
    ASSERT_EQ(study.by_dp.size(), 2U);
    EXPECT_NEAR(study.by_dp[0], 1.1731, 1e-4);
    EXPECT_NEAR(study.by_dp[1], 1.1779, 1e-4);
    const std::map<std::string, double> by_op(study.by_op_type.begin(), study.by_op_type.end());
    EXPECT_NEAR(by_op.at("forward-compute"), 1.0875, 1e-4);
    EXPECT_NEAR(by_op.at("backward-compute"), 1.0742, 1e-4);
    EXPECT_NEAR(by_op.at("embedding-grads-all-reduce"), 1.0096, 1e-4);
    EXPECT_NEAR(by_op.at("grads-reduce-scatter"), 1.0027, 1e-4);
    EXPECT_NEAR(by_op.at("params-all-gather"), 1.0011, 1e-4);
    EXPECT_NEAR(by_op.at("forward-pp-comm"), 0.9999, 1e-4);
    ASSERT_EQ(study.steps.size(), 32U);
    EXPECT_EQ(study.steps.front().index, 23);
    EXPECT_NEAR(study.steps.front().slowdown, 1.2693, 1e-4);
}

TEST(OutsideStragglerStudy, TheTwoGraphsOfOneTraceAgree) {
    BUBBLESCOPE_NEED_TRACES("bytedance-straggler");
    JobControl control;
    const auto run = loadRun({realTrace(kTimeline)}, control);
    ASSERT_TRUE(run.ok());
    const auto model = runModel(run.value(), allSteps(run.value()));
    ASSERT_TRUE(model.ok());
    // Streams of every transfer against ops and transfers alone.
    const auto simple = reschedule(model.value(), model.value().timed.durations, run.value().schedule, {}, {});
    ASSERT_TRUE(simple.ok());
    const auto a = studyStragglers(model.value());
    const auto b = studyStragglers(simple.value().model);
    EXPECT_NEAR(a.slowdown, b.slowdown, 0.005);
    EXPECT_NEAR(*a.m_s, *b.m_s, 0.01);
}

} // namespace
} // namespace bubblescope::test
