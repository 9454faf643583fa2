#include "core/analysis/whatif/run_graph.h"
#include "core/analysis/whatif/straggler_study.h"
#include "tests/unit/whatif/runs.h"

namespace bubblescope::test {
namespace {

// 1F1B on two ranks with two micro-batches. Rank 1 is half as fast:
//   rank 0 | F0 0-1  F1 1-2                    B0 7-9            B1 13-15
//   rank 1 |         F0 1-3  B0 3-7  F1 7-9  B1 9-13
Run studiedSlowRank() {
    return simulatedRun(scheduleOf("1f1b", 2, 2), {unitTimes(), opTimes(2ms, 2ms, 2ms)});
}

TEST(StragglerStudy, AgreesWithTheStepWorkedOutByHand) {
    const auto model = runModel(studiedSlowRank());
    ASSERT_TRUE(model.ok());
    const auto study = studyStragglers(model.value());
    ASSERT_TRUE(study.ok()) << study.error().text();
    const StragglerStudy& s = study.value();
    EXPECT_EQ(s.fit.observed, 15ms);
    EXPECT_EQ(s.fit.simulated, 15ms);
    EXPECT_EQ(s.fit.error(), 0);
    EXPECT_EQ(s.ideal, 13'500us); // all at 1.5 and 3 ms
    EXPECT_DOUBLE_EQ(s.slowdown, 15 / 13.5);
    EXPECT_NEAR(s.waste, 0.1, 1e-12);
    ASSERT_EQ(s.by_pp.size(), 2U);
    EXPECT_DOUBLE_EQ(s.by_pp[0], 12 / 13.5);
    EXPECT_DOUBLE_EQ(s.by_pp[1], 16.5 / 13.5);
    ASSERT_EQ(s.by_dp.size(), 1U);
    EXPECT_DOUBLE_EQ(s.by_dp[0], s.slowdown); // all is in the one replica
    EXPECT_DOUBLE_EQ(s.workers[0][1], 15 / 13.5);
    ASSERT_EQ(s.slowest.size(), 1U);
    EXPECT_EQ(s.slowest[0].rank, Rank{1});
    ASSERT_TRUE(s.m_s && s.m_w);
    EXPECT_DOUBLE_EQ(*s.m_s, (15 - 12) / 1.5);
    EXPECT_DOUBLE_EQ(*s.m_w, (15 - 12) / 1.5);
}

TEST(StragglerStudy, EqualWorkHasNoStragglers) {
    const auto model = runModel(simulatedRun(scheduleOf("1f1b", 4, 8), CostModel{unitTimes(), {}, {}, 1ms, {}, {}}));
    ASSERT_TRUE(model.ok());
    const auto study = studyStragglers(model.value());
    ASSERT_TRUE(study.ok());
    EXPECT_DOUBLE_EQ(study.value().slowdown, 1);
    EXPECT_DOUBLE_EQ(study.value().waste, 0);
    EXPECT_FALSE(study.value().m_w);
    EXPECT_FALSE(study.value().m_s);
}

TEST(StragglerStudy, RefusesWhatItCannotReplay) {
    auto run = studiedSlowRank();
    for (auto& rank : run.steps[0].ranks) { // a second of nothing that no op explains
        for (TimelineOp& op : rank) {
            if (op.op.microbatch != Microbatch{1} || op.op.kind != OpKind::Backward) continue;
            op.start += 1s;
            op.end += 1s;
        }
    }
    run.steps[0].comm.assign(2, {});
    const auto model = runModel(run);
    ASSERT_TRUE(model.ok());
    const auto study = studyStragglers(model.value());
    ASSERT_FALSE(study.ok());
    EXPECT_EQ(study.error().kind, ErrorKind::Input);
    EXPECT_NE(study.error().message.find("% off"), std::string::npos);
    EXPECT_TRUE(studyStragglers(model.value(), 1.0).ok());
}

TEST(StragglerStudy, TransfersThatNobodyRecordedAreInferred) {
    auto run = simulatedRun(scheduleOf("1f1b", 2, 2), {unitTimes(), unitTimes()}, 1ms);
    const TimeNs wall = run.steps[0].wall();
    run.steps[0].comm.assign(2, {});
    const auto model = runModel(run);
    ASSERT_TRUE(model.ok());
    const auto study = studyStragglers(model.value());
    ASSERT_TRUE(study.ok());
    EXPECT_EQ(study.value().fit.simulated, wall);
}

TEST(StragglerStudy, StepsCanBeChosen) {
    auto run = studiedSlowRank();
    run.steps.push_back(run.steps[0]);
    run.steps[1].index = 7;
    const auto model = runModel(run, selectSteps(run.steps, {{{7, 7, {}}}, {}, {}}).value());
    ASSERT_TRUE(model.ok());
    ASSERT_EQ(model.value().steps.size(), 1U);
    EXPECT_EQ(model.value().steps[0].index, 7);
}

TEST(UsualTime, IsTheMeanOfComputeAndTheMedianOfCommunication) {
    EXPECT_EQ(usualTime(RunOp::Forward, {1ns, 2ns, 9ns}), 4ns);
    EXPECT_EQ(usualTime(RunOp::ForwardSend, {9ns, 1ns, 2ns}), 2ns);
    EXPECT_EQ(usualTime(RunOp::ForwardSend, {9ns, 1ns, 2ns, 4ns}), 3ns);
    EXPECT_EQ(usualTime(RunOp::Forward, {}), 0ns);
}

} // namespace
} // namespace bubblescope::test
