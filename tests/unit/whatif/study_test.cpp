#include "core/analysis/whatif/run_graph.h"
#include "core/analysis/whatif/scenario.h"
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
    const StragglerStudy s = studyStragglers(model.value());
    EXPECT_EQ(s.fit.observed, 15ms);
    EXPECT_EQ(s.fit.simulated, 15ms);
    EXPECT_EQ(model.value().check.error(), 0);
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
    const auto model =
        runModel(simulatedRun(scheduleOf("1f1b", 4, 8), CostModel{unitTimes(), {}, {}, {}, 1ms, {}, {}}));
    ASSERT_TRUE(model.ok());
    const auto study = studyStragglers(model.value());
    EXPECT_DOUBLE_EQ(study.slowdown, 1);
    EXPECT_DOUBLE_EQ(study.waste, 0);
    EXPECT_FALSE(study.m_w);
    EXPECT_FALSE(study.m_s);
}

TEST(ReplayCheck, TellsWhatTheGraphDoesNotExplain) {
    auto run = studiedSlowRank();
    for (auto& rank : run.steps[0].ranks) { // a second of nothing that no op explains
        for (TimelineOp& op : rank) {
            if (op.op.microbatch != Microbatch{1} || op.op.kind != OpKind::Backward) continue;
            op.start += 1s;
            op.end += 1s;
        }
    }
    run.steps[0].fitWindow();
    run.steps[0].comm.assign(2, {});
    const auto model = runModel(run);
    ASSERT_TRUE(model.ok());
    const ReplayCheck& check = model.value().check;
    EXPECT_FALSE(check.from_others);
    EXPECT_GT(check.error(), 0.1); // kept in the replay it would be none
    EXPECT_GT(check.unrecorded, 0.1);
    const auto refused = checkError(model.value(), 0.05);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::Input);
    EXPECT_NE(refused.error().message.find("more than the limit"), std::string::npos);
    EXPECT_TRUE(checkError(model.value(), std::nullopt).ok());
    EXPECT_EQ(studyStragglers(model.value()).fit.simulated, 15ms);
}

// Steps of the same ops, all of which start late by as much: the others tell what each takes.
TEST(ReplayCheck, StepsThatAreAlikeForetellEachOther) {
    auto run = simulatedRun(scheduleOf("1f1b", 4, 8), CostModel{unitTimes(), {}, {}, {}, 1ms, {}, {}});
    for (auto& rank : run.steps[0].ranks) {
        for (TimelineOp& op : rank)
            op.end -= 100us; // so that each begins 100 us after the one before it
    }
    run.steps[0].fitWindow();
    for (int index : {1, 2, 3, 4}) {
        run.steps.push_back(run.steps[0]);
        run.steps.back().index = index;
    }
    const ReplayCheck alike = runModel(run).value().check;
    EXPECT_TRUE(alike.from_others);
    EXPECT_EQ(alike.steps.size(), 5U);
    EXPECT_LT(alike.error(), 0.02);
    EXPECT_LT(alike.foresight(), 0.02);
    // A hiccup in one of them is not in the others.
    for (auto& ops : run.steps[1].ranks) {
        for (std::size_t i = 12; i < ops.size(); ++i) {
            ops[i].start += 5ms;
            ops[i].end += 5ms;
        }
    }
    run.steps[1].fitWindow();
    run.steps[1].comm.assign(4, {});
    const ReplayCheck checked = runModel(run).value().check;
    ASSERT_EQ(checked.steps.size(), 5U);
    EXPECT_GT(-checked.steps[1].off(), 3ms);
    EXPECT_LT(std::chrono::abs(checked.steps[0].off()), 1ms);
}

TEST(StragglerStudy, TransfersThatNobodyRecordedAreInferred) {
    auto run = simulatedRun(scheduleOf("1f1b", 2, 2), {unitTimes(), unitTimes()}, 1ms);
    const TimeNs wall = run.steps[0].wall();
    run.steps[0].comm.assign(2, {});
    const auto model = runModel(run);
    ASSERT_TRUE(model.ok());
    const auto study = studyStragglers(model.value());
    EXPECT_EQ(study.fit.simulated, wall);
}

TEST(StragglerStudy, EndsWhenItIsStopped) {
    const auto model = runModel(studiedSlowRank());
    ASSERT_TRUE(model.ok());
    std::stop_source stop;
    JobControl control;
    control.stop = stop.get_token();
    int checks = 0;
    control.at_check = [&] {
        if (++checks == 2) stop.request_stop();
    };
    const StragglerStudy study = studyStragglers(model.value(), control);
    EXPECT_FALSE(study.m_w) << "what comes after the stop is left out";
    EXPECT_TRUE(studyStragglers(model.value()).m_w);
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
