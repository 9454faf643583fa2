#include "core/analysis/whatif/scenario.h"
#include "core/base/time.h"
#include "core/graph/simulate_lowered.h"
#include "core/lowering/torch_lowering.h"
#include "tests/unit/whatif/runs.h"

#include <fmt/format.h>

#include <map>

namespace bubblescope::test {
namespace {

Scenario scenario(std::vector<std::string> texts) {
    auto parsed = parseScenario(texts);
    EXPECT_TRUE(parsed.ok()) << parsed.error().text();
    return std::move(parsed).value();
}

Prediction predictOf(const Run& run, std::vector<std::string> changes, const ModelCut& cut = {}) {
    const auto model = runModel(run);
    EXPECT_TRUE(model.ok());
    auto prediction = predict(model.value(), run.schedule, scenario(std::move(changes)), cut);
    EXPECT_TRUE(prediction.ok()) << prediction.error().text();
    return std::move(prediction).value();
}

/// Step of rank 1 half as fast: 15 ms, see study_test.cpp.
Run runWithSlowSecondRank() {
    return simulatedRun(scheduleOf("1f1b", 2, 2), {unitTimes(), opTimes(2ms, 2ms, 2ms)});
}

TEST(Scenario, ARankAsFastAsTheOthers) {
    const Prediction prediction = predictOf(runWithSlowSecondRank(), {"rank:1=usual"});
    EXPECT_EQ(prediction.before, 15ms);
    EXPECT_EQ(prediction.after, 9ms); // (m + p − 1)·(F + B)
    EXPECT_EQ(prediction.predicted(), 9ms);
    EXPECT_EQ(prediction.change(), -6ms);
    ASSERT_EQ(prediction.ranks.size(), 2U);
    EXPECT_EQ(prediction.ranks[0].before, 9ms);
    EXPECT_EQ(prediction.ranks[0].after, 3ms);
    EXPECT_EQ(prediction.ranks[1].before, 3ms);
    EXPECT_EQ(prediction.ranks[1].after, 3ms);
    EXPECT_EQ(predictOf(runWithSlowSecondRank(), {"stage:1=2x"}).after, 9ms);
    EXPECT_EQ(predictOf(runWithSlowSecondRank(), {"rank:1=-50%"}).after, 9ms);
    EXPECT_EQ(predictOf(runWithSlowSecondRank(), {"worker:0.1=2x"}).after, 9ms);
    EXPECT_EQ(predictOf(runWithSlowSecondRank(), {"replica:0=2x"}).after, 7'500us);
    EXPECT_EQ(predictOf(runWithSlowSecondRank(), {"type:forward-compute=1ms", "type:backward-compute=2ms"}).after, 9ms);
    EXPECT_EQ(predictOf(runWithSlowSecondRank(), {"rank:1=usual", "compute=2x"}).after, 4'500us); // one after the other
    EXPECT_EQ(predictOf(runWithSlowSecondRank(), {"all=usual"}).after, 13'500us);
}

TEST(Scenario, AFasterLink) {
    // rank 0 | F0 0-1 F1 1-2              B0 6-8  B1 9-11
    // rank 1 |         F0 2-3 B0 3-5 F1 5-6 B1 6-8
    const auto run = simulatedRun(scheduleOf("1f1b", 2, 2), {unitTimes(), unitTimes()}, 1ms);
    EXPECT_EQ(predictOf(run, {"link:0>1=0"}).before, 11ms);
    EXPECT_EQ(predictOf(run, {"link:0>1=0"}).after, 10ms);
    EXPECT_EQ(predictOf(run, {"link:0>1=2x"}).after, 10'500us);
    EXPECT_EQ(predictOf(run, {"link:1-0=0"}).after, 9ms);
    EXPECT_EQ(predictOf(run, {"links=0"}).after, 9ms);
    EXPECT_EQ(predictOf(run, {"comm=0"}).after, 9ms);
}

// The typical step is the shorter one; the change is that of this step, and the mean one would be longer than it.
TEST(Scenario, StepsUnlikeEachOtherDoNotEndBeforeTheyBegin) {
    auto run = simulatedRun(scheduleOf("1f1b", 2, 2), {unitTimes(), unitTimes()});
    auto longer = simulatedRun(run.schedule, {opTimes(4ms, 4ms, 4ms), opTimes(4ms, 4ms, 4ms)});
    run.steps.push_back(longer.steps[0]);
    run.steps[1].index = 1;
    const Prediction half = predictOf(run, {"compute=2x"});
    EXPECT_EQ(half.step, 9ms);
    EXPECT_EQ(half.fit.observed, 9ms);
    EXPECT_EQ(half.change(), -4'500us);
    EXPECT_EQ(predictOf(run, {"compute=0"}).predicted(), 0ms);
}

TEST(Scenario, WithoutJitter) {
    Schedule order = scheduleOf("1f1b", 2, 2);
    auto measured = std::make_shared<MeasuredTimes>();
    measured->setOp(Rank{1}, Op{OpKind::Forward, Microbatch{0}, Chunk{0}}, 3ms);
    CostModel costs;
    costs.times = unitTimes();
    costs.measured = measured;
    const auto run = simulatedRun(order, costs);
    const Prediction prediction = predictOf(run, {"compute=steady"});
    EXPECT_EQ(prediction.before, 11ms);
    EXPECT_EQ(prediction.after, 11ms); // its forwards take 2 ms each, and both are on the path
    EXPECT_EQ(predictOf(run, {"rank:1=usual"}).after, 9ms);
}

TEST(Scenario, AnotherScheduleIsThatSchedulesSimulation) {
    const std::vector<OpTimes> stages{opTimes(1ms, 1ms, 1ms), opTimes(2ms, 3ms, 3ms), opTimes(1ms, 2ms, 2ms),
                                      opTimes(3ms, 4ms, 4ms)};
    const auto run = simulatedRun(scheduleOf("1f1b", 4, 8), stages, 250us);
    for (const std::string name : {"zb-h1", "fthenb", "1f1b"}) {
        const Prediction prediction = predictOf(run, {"schedule=" + name});
        CostModel costs;
        costs.stages = stages;
        costs.comm = 250us;
        EXPECT_EQ(prediction.after, simulate(*prediction.schedule, costs).value().wall()) << name;
        EXPECT_EQ(prediction.before, run.steps[0].wall());
        EXPECT_EQ(prediction.schedule->name, name);
    }
}

TEST(Scenario, CommunicatorsAddWhatTheirQueuesCost) {
    const Schedule order = scheduleOf("interleaved", 4, 8, 2);
    CostModel costs;
    costs.times = unitTimes();
    costs.comm = 2ms;
    const auto run = simulatedRun(order, costs);
    const auto queued = [&](CommunicatorKind kind) {
        return simulateLowered(lowerAsTorch(order, {}).value(), costs, {{kind, {}}, 0, false}).value().step.wall();
    };
    const Prediction prediction = predictOf(run, {"communicators=edge"});
    ASSERT_TRUE(prediction.queues);
    EXPECT_EQ(prediction.queues->before, queued(CommunicatorKind::One));
    EXPECT_EQ(prediction.queues->after, queued(CommunicatorKind::Edge));
    EXPECT_LT(prediction.queues->change(), TimeNs{0});
    EXPECT_EQ(prediction.change(), prediction.queues->change());
}

TEST(Scenario, RefusesQueuesThatHang) {
    const auto run = simulatedRun(scheduleOf("looped-bfs", 4, 4, 2), std::vector<OpTimes>(8, unitTimes()));
    const auto hangs =
        predict(runModel(run).value(), run.schedule, scenario({"communicators=direction", "receives=deferred"}), {});
    ASSERT_FALSE(hangs.ok());
    EXPECT_NE(hangs.error().text().find("hangs with payloads"), std::string::npos) << hangs.error().text();
    EXPECT_FALSE(parseScenario(std::vector<std::string>{"communicators=one"}).ok());
    EXPECT_FALSE(parseScenario(std::vector<std::string>{"receives=early"}).ok());
}

TEST(Scenario, MoreChunksTakeTheirPartOfTheTime) {
    const auto run = simulatedRun(scheduleOf("1f1b", 4, 8), CostModel{opTimes(2ms, 2ms, 2ms), {}, {}, {}, {}, {}, {}});
    const Prediction interleaved = predictOf(run, {"schedule=interleaved", "vpp=2"});
    CostModel half;
    half.times = opTimes(1ms, 1ms, 1ms);
    EXPECT_EQ(interleaved.after, simulate(scheduleOf("interleaved", 4, 8, 2), half).value().wall());
    const Prediction v_shape = predictOf(run, {"schedule=zb-v"}); // which takes two chunks only
    EXPECT_EQ(v_shape.schedule->vpp, 2);
    EXPECT_EQ(v_shape.after, simulate(*v_shape.schedule, half).value().wall());
}

/// The host's time before each op of a kind.
using HostTime = std::map<OpKind, TimeNs>;

/// Ranks are idle while their host prepares an op, which it does once the rank is free and the input has arrived.
Run runWithGaps(const Schedule& order, OpTimes op, const HostTime& host) {
    const auto gap = [&](OpKind kind) { return host.contains(kind) ? host.at(kind) : 0ns; };
    const OpTimes with{op.forward + gap(OpKind::Forward), op.backward + gap(OpKind::Backward),
                       op.input_grad + gap(OpKind::BackwardInput), op.weight_grad + gap(OpKind::BackwardWeight), 0ns};
    auto run = simulatedRun(order, CostModel{with, {}, {}, {}, {}, {}, {}});
    for (StepTimeline& step : run.steps) {
        for (auto& ops : step.ranks) {
            for (TimelineOp& each : ops)
                each.start += gap(each.op.kind);
        }
        step.fitWindow();
    }
    return run;
}

TEST(Scenario, TimeBetweenOpsGrowsWithTheirNumber) {
    const HostTime host{{OpKind::Forward, 150us},
                        {OpKind::Backward, 350us},
                        {OpKind::BackwardInput, 350us},
                        {OpKind::BackwardWeight, 250us}}; // W was not run: it has the mean
    // An op has a fixed cost, too, as long as the mean time between ops.
    constexpr TimeNs kFixed = 250us;
    const auto part = [&](int of) {
        const TimeNs half = kFixed + (8ms - kFixed) / (2 * of);
        return OpTimes{kFixed + (4ms - kFixed) / of, kFixed + (8ms - kFixed) / of, half, half, 0ns};
    };
    const OpTimes op = part(1);
    const auto run = runWithGaps(scheduleOf("1f1b", 4, 8), op, host);
    for (const TimeNs clock_error : {0us, 500us}) { // late starts, or too small for the clocks: unknown
        const auto model = runModel(run, selectSteps(run.steps), clock_error).value();
        const auto expectPredicted = [&](std::vector<std::string> changes, const Schedule& order,
                                         const OpTimes& times) {
            const TimeNs truth = runWithGaps(order, times, host).steps[0].wall();
            const Prediction prediction = predict(model, run.schedule, scenario(changes)).value();
            EXPECT_NEAR(fractionOf(prediction.predicted(), truth), 1, 0.015)
                << changes.front() << changes.back() << clock_error.count();
            EXPECT_LE(std::chrono::abs(prediction.predicted() - truth), prediction.bar.time + 1us);
            EXPECT_NEAR(static_cast<double>(prediction.gap.count()), 250e3, 40e3);
        };
        for (const int vpp : {2, 4}) {
            expectPredicted({"schedule=interleaved", fmt::format("vpp={}", vpp)}, scheduleOf("interleaved", 4, 8, vpp),
                            part(vpp));
        }
        expectPredicted({"schedule=fthenb"}, scheduleOf("fthenb", 4, 8), op);
        expectPredicted({"schedule=zb-h1"}, scheduleOf("zb-h1", 4, 8), op);
        expectPredicted({"microbatches=16"}, scheduleOf("1f1b", 4, 16), op);
        expectPredicted({"split=2"}, scheduleOf("1f1b", 4, 16), part(2));
        const Prediction same = predict(model, run.schedule, scenario({"schedule=1f1b"})).value();
        EXPECT_EQ(same.change(), 0us) << "a different number of ops";
        EXPECT_EQ(same.bar.gaps, 0us);
        const Prediction more = predict(model, run.schedule, scenario({"split=2"})).value();
        EXPECT_GT(more.gaps_added, 3ms);
        EXPECT_EQ(more.bar.gaps, 2 * more.gaps_added);
    }
}

TEST(Scenario, PyTorchRunsTheFirstStagesBackwardInItsSecondHalf) {
    const auto run = simulatedRun(scheduleOf("1f1b", 4, 8), CostModel{opTimes(2ms, 2ms, 2ms), {}, {}, {}, {}, {}, {}});
    const Prediction prediction = predictOf(run, {"schedule=zb-v/torch", "vpp=2"});
    CostModel costs;
    costs.stages.assign(8, opTimes(1ms, 1ms, 1ms));
    costs.stages.front() = opTimes(1ms, 0ms, 2ms);
    const StepTimeline step = simulate(*prediction.schedule, costs).value();
    EXPECT_EQ(prediction.after, step.wall());
    for (std::size_t r = 0; r < step.ranks.size(); ++r)
        EXPECT_EQ(prediction.ranks[r].after, step.wall() - 48ms) << r;
    // Every rank can begin the next step once it has run its last op.
    TimeNs longest{0};
    for (const auto& ops : step.ranks)
        longest = std::max(longest, ops.back().end - ops.front().start);
    EXPECT_EQ(prediction.overlap_after, step.wall() - longest);
    EXPECT_GT(prediction.overlap_after, 0ns);
    EXPECT_EQ(prediction.overlap_before, 0ns) << "of 1F1B, the first rank begins first and ends last";
    const RunModel model = runModel(run).value();
    for (const auto& [name, input, weight] : {std::tuple("zb-v/torch", 0ms, 2ms), std::tuple("zb-v", 1ms, 1ms)}) {
        const Scenario changed = scenario({std::string("schedule=") + name, "vpp=2"});
        const StepTimeline predicted = predictedStep(model, run.schedule, changed, {}, 0).value();
        for (const TimelineOp& op : predicted.ranks[0]) {
            if (op.op.chunk != Chunk{0}) continue;
            if (op.op.kind == OpKind::BackwardInput) {
                EXPECT_EQ(op.duration(), input) << name;
            } else if (op.op.kind == OpKind::BackwardWeight) {
                EXPECT_EQ(op.duration(), weight) << name;
            }
        }
    }
}

TEST(Scenario, TheShareOfTheInputGradientSplitsABackward) {
    const auto run = simulatedRun(scheduleOf("1f1b", 4, 8), CostModel{opTimes(2ms, 2ms, 2ms), {}, {}, {}, {}, {}, {}});
    ModelCut cut;
    cut.input_share = 0.75;
    const Prediction prediction = predictOf(run, {"schedule=zb-h1"}, cut);
    CostModel costs;
    costs.times = opTimes(2ms, 3ms, 1ms);
    EXPECT_EQ(prediction.after, simulate(*prediction.schedule, costs).value().wall());
}

TEST(Scenario, MovedLayersTakeTheirTimeWithThem) {
    // Eight layers of 1 ms forward and 2 ms backward, two a stage; the last stage has a head of 3 + 6 ms besides.
    const std::vector<OpTimes> stages{opTimes(2ms, 2ms, 2ms), opTimes(2ms, 2ms, 2ms), opTimes(2ms, 2ms, 2ms),
                                      opTimes(5ms, 5ms, 5ms)};
    const auto run = simulatedRun(scheduleOf("1f1b", 4, 8), stages);
    ModelCut cut;
    cut.layers = {2, 2, 2, 2};
    const Prediction prediction = predictOf(run, {"layers=3,2,2,1"}, cut);
    CostModel costs;
    costs.stages = {opTimes(3ms, 3ms, 3ms), opTimes(2ms, 2ms, 2ms), opTimes(2ms, 2ms, 2ms), opTimes(4ms, 4ms, 4ms)};
    EXPECT_EQ(prediction.after, simulate(run.schedule, costs).value().wall());
    EXPECT_EQ(prediction.schedule->ranks, run.schedule.ranks);
}

TEST(Scenario, MoreMicroBatchesGoOnAsTheMeanOne) {
    const auto run = simulatedRun(scheduleOf("1f1b", 2, 2), CostModel{unitTimes(), {}, {}, {}, {}, {}, {}});
    const Prediction prediction = predictOf(run, {"microbatches=6"});
    EXPECT_EQ(prediction.after, 21ms);
    EXPECT_EQ(prediction.microbatches_before, 2);
    EXPECT_EQ(prediction.microbatches_after, 6);
}

TEST(Scenario, SplitMicroBatchesTakeTheirPartOfTheTime) {
    const auto run = simulatedRun(scheduleOf("1f1b", 2, 2), CostModel{opTimes(2ms, 2ms, 2ms), {}, {}, {}, {}, {}, {}});
    const Prediction prediction = predictOf(run, {"split=2"});
    EXPECT_EQ(prediction.before, 18ms); // (2 + 1)·6 ms
    EXPECT_EQ(prediction.after, 15ms);  // (4 + 1)·3 ms
    EXPECT_EQ(prediction.microbatches_after, 2);
}

TEST(Scenario, TimesThatDoNotFitAreRefused) {
    const auto run = runWithSlowSecondRank();
    const auto model = runModel(run);
    const auto prediction =
        predict(model.value(), run.schedule, scenario({"all=0.00001x", "compute=0.00001x", "rank:1=0.001x"}));
    ASSERT_FALSE(prediction.ok());
    EXPECT_EQ(prediction.error().kind, ErrorKind::Usage);
}

TEST(Scenario, SaysWhatItDoesNotUnderstand) {
    for (const std::string text : {"", "rank:3", "rank:x=2x", "rnk:3=2x", "rank:3=fast", "rank:3=0x", "rank:3=-200%",
                                   "link:3=2x", "type:foo=0", "vpp=0", "layers=", "layers=3,,4", "schedule=",
                                   "worker:3=2x", "rank:3=2", "rank:-1=2x", "rank:3=nanx", "rank:3=-nan%", "split=0"}) {
        const auto parsed = parseScenario(std::vector<std::string>{text});
        ASSERT_FALSE(parsed.ok()) << text;
        EXPECT_EQ(parsed.error().kind, ErrorKind::Usage) << text;
    }
}

TEST(Scenario, RefusesWhatTheRunDoesNotHave) {
    const auto run = runWithSlowSecondRank();
    const auto model = runModel(run);
    const auto refused = [&](std::vector<std::string> changes, const ModelCut& cut = {}) {
        const auto prediction = predict(model.value(), run.schedule, scenario(changes), cut);
        EXPECT_FALSE(prediction.ok()) << changes.front();
        return prediction.ok() ? std::string() : prediction.error().text();
    };
    EXPECT_NE(refused({"rank:9=2x"}).find("rank:9=2x"), std::string::npos);
    EXPECT_NE(refused({"worker:1.0=2x"}).find("replicas 0"), std::string::npos);
    EXPECT_NE(refused({"layers=1,1"}).find("layers=N,N"), std::string::npos);
    ModelCut cut;
    cut.layers = {4, 4};
    EXPECT_NE(refused({"layers=4,5"}, cut).find("add up"), std::string::npos);
    EXPECT_NE(refused({"layers=4,2,2"}, cut).find("3 stages"), std::string::npos);
    EXPECT_NE(refused({"schedule=nonsense"}).find("nonsense"), std::string::npos);
}

} // namespace
} // namespace bubblescope::test
