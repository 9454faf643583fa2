// Kinds of findings that the campaign does not put in, thresholds, and cases without a finding.

#include "core/analysis/steps/run_analyzer.h"
#include "core/recognise/assemble.h"
#include "core/trace/trace_builder.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/analysis/simulated_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace bubblescope {
namespace {

using namespace test;

TEST(Anomalies, ExactRunsHaveNone) {
    for (const ScheduleSpec& spec :
         {k1F1B, ScheduleSpec{"interleaved", "", 4, 8, 2}, ScheduleSpec{"zb-v", "", 4, 8, 2}})
        EXPECT_TRUE(analyzeRun(makeRun(spec, 3)).anomalies.empty()) << spec.name;
}

TEST(Anomalies, EveryKindHasANameOfItsOwnAndTheTableIsInOrder) {
    std::vector<std::string_view> names;
    for (const AnomalyKindInfo& info : anomalyKinds()) {
        EXPECT_EQ(anomalyKindName(info.kind), info.name);
        names.push_back(info.name);
    }
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
    EXPECT_EQ(names.size(), static_cast<std::size_t>(AnomalyKind::AadiffUnchecked) + 1);
}

TEST(Anomalies, AStageIsSlowByWhatItCosts) {
    const auto slow = [](Stage stage, int percent) {
        return makeRun(k1F1B, 3, [=](int, CostModel& costs) {
            costs.stages.assign(4, costs.times);
            costs.stages[stage.index()] =
                makeOpTimes(kForward * percent / 100, kForward * 2 * percent / 100, {}, {}).value();
        });
    };
    const RunReport middle = analyzeRun(slow(Stage{1}, 130));
    ASSERT_FALSE(middle.anomalies.empty());
    EXPECT_EQ(middle.anomalies[0].kind, AnomalyKind::SlowStage);
    EXPECT_EQ(middle.anomalies[0].rank, Rank{1});
    const RunReport last = analyzeRun(slow(Stage{3}, 130));
    EXPECT_EQ(last.anomalies.at(0).kind, AnomalyKind::LastStageImbalance);
    // The real saving of the step: the slow stage is on the critical path with all of its ops.
    const TimeNs saved = slow(Stage{3}, 130).steps[0].wall() - slow(Stage{3}, 100).steps[0].wall();
    EXPECT_NEAR(static_cast<double>(last.anomalies[0].cost.count()), static_cast<double>(saved.count()), 1e4);
    EXPECT_TRUE(ofKind(analyzeRun(slow(Stage{1}, 101)), AnomalyKind::SlowStage).empty()) << "below cost.least";
    DiagnosisOptions strict;
    strict.thresholds.least_cost = 0.001;
    EXPECT_EQ(ofKind(analyzeRun(slow(Stage{1}, 101), strict), AnomalyKind::SlowStage).size(), 1U);
}

TEST(Anomalies, AReplicasRankIsComparedWithItsEqualsOnly) {
    auto run = makeRun(k1F1B, 4, [](int, CostModel& costs) {
        costs.stages.assign(4, costs.times); // stages differ, and alike in both replicas
        costs.stages[3] = makeOpTimes(kForward * 5 / 4, kForward * 5 / 2, {}, {}).value();
    });
    const auto slow = makeRun(k1F1B, 4, [](int, CostModel& costs) {
        costs.stages.assign(4, costs.times);
        costs.stages[3] = makeOpTimes(kForward * 5 / 4, kForward * 5 / 2, {}, {}).value();
        costs.stages[1] = makeOpTimes(kForward * 3 / 2, kForward * 3, {}, {}).value();
    });
    for (StepTimeline step : slow.steps) {
        step.replica = 1;
        run.steps.push_back(std::move(step));
    }
    const auto stragglers = ofKind(analyzeRun(run), AnomalyKind::Straggler);
    ASSERT_EQ(stragglers.size(), 1U);
    EXPECT_EQ(stragglers[0].rank, Rank{1});
    EXPECT_EQ(stragglers[0].replica, 1);
}

TEST(Anomalies, ALinkThatGetsSlowerIsToldWithItsDirection) {
    const auto run = makeRun(k1F1B, 12, [](int step, CostModel& costs) {
        costs.transfers.links.push_back({Rank{2}, Rank{1}, kComm + kForward * step / 8, {}});
    });
    const auto found = ofKind(analyzeRun(run), AnomalyKind::SlowLink);
    const auto degrading = ofKind(analyzeRun(run), AnomalyKind::DegradingLink);
    ASSERT_EQ(found.size() + degrading.size(), 1U);
    const Anomaly& link = found.empty() ? degrading[0] : found[0];
    EXPECT_EQ(link.rank, Rank{2});
    EXPECT_EQ(link.peer, Rank{1});

    const auto late = makeRun(k1F1B, 12, [](int step, CostModel& costs) {
        if (step >= 8) costs.transfers.links.push_back({Rank{2}, Rank{1}, kForward, {}});
    });
    const auto lately = ofKind(analyzeRun(late), AnomalyKind::DegradingLink);
    ASSERT_EQ(lately.size(), 1U);
    EXPECT_EQ(lately[0].rank, Rank{2});
}

TEST(Anomalies, NothingBelowTheClocksErrorIsTold) {
    const auto run = makeRun(k1F1B, 12, [](int, CostModel& costs) {
        costs.transfers.links.push_back({Rank{2}, Rank{1}, kForward, {}});
    });
    ASSERT_EQ(ofKind(analyzeRun(run), AnomalyKind::SlowLink).size(), 1U);
    RunClocks clocks;
    clocks.method = ClockMethod::Aligned;
    for (int r = 0; r < 4; ++r) {
        clocks.ranks.push_back({0, Rank{r}, "host", {}});
        clocks.ranks.back().fit.bound = kForward;
        clocks.ranks.back().fit.offset = TimeNs{500'000};
    }
    const RunReport unsure = analyzeRun(run, {}, clocks);
    EXPECT_TRUE(ofKind(unsure, AnomalyKind::SlowLink).empty());
    EXPECT_TRUE(ofKind(unsure, AnomalyKind::ClockSkew).empty()) << "half its bound";
}

TEST(Anomalies, StepTimesThatChange) {
    const auto run = makeRun(k1F1B, 20, [](int step, CostModel& costs) {
        if (step >= 12) costs.times = makeOpTimes(kForward * 13 / 10, kForward * 26 / 10, {}, {}).value();
    });
    const auto changes = ofKind(analyzeRun(run), AnomalyKind::StepTimeChange);
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_EQ(changes[0].step, 12);
    EXPECT_NEAR(changes[0].evidence[2].second, 1.3, 0.01);
    EXPECT_TRUE(ofKind(analyzeRun(run), AnomalyKind::Straggler).empty()) << "all ranks changed alike";
}

TEST(Anomalies, OpsTwiceOrBeforeWhatTheyNeed) {
    auto run = makeRun(k1F1B, 3);
    run.steps[1].ranks[2].insert(run.steps[1].ranks[2].begin() + 3, run.steps[1].ranks[2][2]);
    const auto twice = ofKind(analyzeRun(run), AnomalyKind::DuplicateOp);
    ASSERT_FALSE(twice.empty());
    EXPECT_EQ(twice[0].rank, Rank{2});
    EXPECT_EQ(twice[0].step, 1);

    auto early = makeRun(k1F1B, 3);
    auto& ops = early.steps[2].ranks[3];
    std::swap(ops[0].op, ops[1].op); // B0 before F0 on the last rank
    EXPECT_FALSE(ofKind(analyzeRun(early), AnomalyKind::OutOfPlaceOp).empty());
}

TEST(Anomalies, ProblemsOfTheTraceAreTold) {
    auto run = makeRun(k1F1B, 3);
    const auto fault = [](Rank rank, const char* op, bool twice) { return opFault(rank, *parseOpName(op), twice); };
    run.problems.push_back(incompleteStep(7, 0, fault(Rank{2}, "F3.0", false)));
    run.problems.push_back(incompleteStep(9, 1, fault(Rank{1}, "B5.0", true)));
    run.problems.push_back({"truncated", 1, say("a.json, byte 100"), say("the JSON ends too early")});
    run.problems.push_back({"inferred", 1, say("a.json"), say("says nothing of lost records")});
    const RunReport report = analyzeRun(run);
    const auto missing = ofKind(report, AnomalyKind::MissingOp);
    ASSERT_EQ(missing.size(), 1U);
    EXPECT_EQ(missing[0].rank, Rank{2});
    EXPECT_EQ(missing[0].step, 7);
    EXPECT_EQ(missing[0].op, parseOpName("F3.0"));
    const auto twice = ofKind(report, AnomalyKind::DuplicateOp);
    ASSERT_EQ(twice.size(), 1U);
    EXPECT_EQ(twice[0].rank, Rank{1});
    EXPECT_EQ(twice[0].step, 9);
    EXPECT_EQ(twice[0].op, parseOpName("B5.0"));
    EXPECT_EQ(ofKind(report, AnomalyKind::LostRecords).size(), 1U);
}

TEST(Anomalies, ReceivesBeforeTheirSends) {
    auto run = makeRun(k1F1B, 3);
    EXPECT_TRUE(ofKind(analyzeRun(run), AnomalyKind::CausalityViolation).empty());
    for (CommSpan& span : run.steps[1].comm[2]) {
        if (span.kind != CommKind::Receive) continue;
        span.start -= kForward;
        span.end -= kForward;
    }
    const auto found = ofKind(analyzeRun(run), AnomalyKind::CausalityViolation);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].rank, Rank{2});
    EXPECT_EQ(found[0].step, 1);
}

/// Rank 0 of two waits for the gradient of micro-batch 0 before it runs its next forward, which needs nothing.
constexpr TimeNs kBlocked = 3 * kForward;
bubblescope::Run blockedRun(CommKind kind) {
    bubblescope::Run run;
    run.schedule = makeSchedule({"1f1b", "", 2, 3, 1}).value();
    CostModel costs;
    costs.times = makeOpTimes(kForward, 2 * kForward, {}, {}).value();
    StepTimeline step = simulate(run.schedule, costs).value();
    auto& ops = step.ranks[0]; // F0 F1 B0 F2 B1 B2
    CommSpan wait;
    wait.kind = kind;
    wait.payload = Payload::Gradient;
    wait.microbatch = Microbatch{0};
    wait.stage = Stage{0};
    wait.peer = Rank{1};
    wait.start = ops[0].end;
    wait.end = ops[0].end + kBlocked;
    // B0 would otherwise start 2 ms after F1's end.
    for (std::size_t i = 1; i < ops.size(); ++i) {
        ops[i].start += i == 1 ? kBlocked : kForward;
        ops[i].end += i == 1 ? kBlocked : kForward;
    }
    for (TimelineOp& op : step.ranks[1]) {
        if (op.op.microbatch.value == 0) continue;
        op.start += kForward;
        op.end += kForward;
    }
    step.comm[0] = {wait};
    step.comm[1].clear();
    step.fitWindow();
    run.steps.push_back(step);
    return run;
}

TEST(Anomalies, AReceiveThatBlocksAReadyOp) {
    for (const CommKind kind : {CommKind::Wait, CommKind::Receive}) {
        auto run = blockedRun(kind);
        const RunReport report = analyzeRun(run);
        const auto blocked = ofKind(report, AnomalyKind::BlockingReceive);
        ASSERT_EQ(blocked.size(), 1U);
        EXPECT_EQ(blocked[0].rank, Rank{0});
        EXPECT_EQ(blocked[0].op, parseOpName("F1.0"));
        EXPECT_EQ(blocked[0].evidence[0].second, static_cast<double>(kBlocked.count()));
        EXPECT_EQ(blocked[0].cost, kForward);
        run.steps[0].comm[0][0].microbatch = Microbatch{1};
        run.steps[0].comm[0][0].payload = Payload::Activation; // now it is the op's own input
        EXPECT_TRUE(ofKind(analyzeRun(run), AnomalyKind::BlockingReceive).empty());
    }
}

TEST(Anomalies, ReceivesThatBlockSeveralRanksAreOneFinding) {
    auto run = blockedRun(CommKind::Receive);
    StepTimeline& step = run.steps[0];
    const TimeNs free = step.ranks[1][0].end; // rank 1 waits for F1's input before B0
    for (std::size_t r = 0; r < 2; ++r) {
        for (std::size_t i = r == 0 ? 2 : 1; i < step.ranks[r].size(); ++i) {
            step.ranks[r][i].start += kBlocked;
            step.ranks[r][i].end += kBlocked;
        }
    }
    CommSpan receive;
    receive.kind = CommKind::Receive;
    receive.payload = Payload::Activation;
    receive.microbatch = Microbatch{1};
    receive.stage = Stage{1};
    receive.peer = Rank{0};
    receive.start = free;
    receive.end = free + kBlocked;
    step.comm[1] = {receive};
    step.fitWindow();
    const auto blocked = ofKind(analyzeRun(run), AnomalyKind::BlockingReceive);
    ASSERT_EQ(blocked.size(), 1U);
    EXPECT_EQ(blocked[0].rank, std::nullopt);
    EXPECT_EQ(blocked[0].evidence[1], std::pair(std::string("ranks"), 2.0));
    EXPECT_EQ(blocked[0].cost, kBlocked);
}

TEST(Anomalies, AReceiveThatIsOnlyPending) {
    auto run = blockedRun(CommKind::Receive);
    CommSpan& receive = run.steps[0].comm[0][0];
    receive.end -= kForward; // the op starts later
    EXPECT_TRUE(ofKind(analyzeRun(run), AnomalyKind::BlockingReceive).empty());
    receive.end += 2 * kForward; // the op starts earlier
    EXPECT_TRUE(ofKind(analyzeRun(run), AnomalyKind::BlockingReceive).empty());
}

/// A file a rank, with the ops and what runs inside of them.
void addTrace(bubblescope::Run& run, const std::function<void(TraceBuilder&, int rank, const TimelineOp&)>& fill) {
    TraceBuilder builder;
    for (int r = 0; r < run.schedule.pp; ++r) {
        builder.addFile({"rank" + std::to_string(r) + ".json", "kineto", r});
        const TrackId track = builder.addTrack(r, 1);
        for (const StepTimeline& step : run.steps) {
            for (const TimelineOp& op : step.ranks[Rank{r}.index()]) {
                builder.addSlice({track, op.start, op.duration(), builder.intern(opName(op.op)), 0, 0});
                fill(builder, r, op);
            }
        }
    }
    DiagnosticLog log;
    run.trace = builder.finish(log);
}

TEST(Anomalies, ADeviceThatIdlesInsideOps) {
    auto run = makeRun(k1F1B, 3);
    addTrace(run, [](TraceBuilder& builder, int rank, const TimelineOp& op) {
        const TrackId device = builder.addTrack(rank, 7);
        const int busy = rank == 2 ? 5 : 9; // of 10
        for (int k = 0; k < 10; ++k) {
            const TimeNs part = op.duration() / 10;
            builder.addSlice(
                {device, op.start + k * part, part * busy / 10, builder.intern("gemm"), builder.intern("kernel"), 0});
        }
    });
    const auto found = ofKind(analyzeRun(run), AnomalyKind::LaunchBound);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].rank, Rank{2});
    EXPECT_NEAR(found[0].evidence[1].second, 0.5, 0.06);
}

TEST(Anomalies, MemoryAboveItsEstimate) {
    auto run = makeRun(k1F1B, 1);
    addTrace(run, [](TraceBuilder& builder, int rank, const TimelineOp& op) {
        builder.addCounter(rank, builder.intern("Device memory"), op.start, rank == 3 ? 1.2e9 : 0.9e9);
    });
    DiagnosisOptions options;
    options.memory_estimate = {1'000'000'000, 1'000'000'000, 1'000'000'000, 1'000'000'000};
    const auto found = ofKind(analyzeRun(run, options), AnomalyKind::MemoryAboveEstimate);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].rank, Rank{3});
}

TEST(Thresholds, AreSetByNameAndFromFiles) {
    Thresholds thresholds;
    ASSERT_TRUE(setThreshold(thresholds, "cost.least=0.05").ok());
    EXPECT_EQ(thresholds.least_cost, 0.05);
    for (const char* const bad : {"cost.least", "cost.least=", "cost.least=x", "cost.least=2", "no.such=1", "=1"})
        EXPECT_FALSE(setThreshold(thresholds, bad).ok()) << bad;
    for (const ThresholdInfo& info : thresholdTable()) {
        EXPECT_GE(Thresholds{}.*(info.value), info.least) << info.name;
        EXPECT_LE(Thresholds{}.*(info.value), info.most) << info.name;
        EXPECT_FALSE(info.unit.empty() || info.meaning.empty()) << info.name;
    }
    const test::ScratchFolder scratch;
    const auto good = scratch.write("good.json", R"({"link.ratio": 3, "chance": 0.01})");
    ASSERT_TRUE(readThresholds(thresholds, good).ok());
    EXPECT_EQ(thresholds.link_ratio, 3);
    EXPECT_EQ(thresholds.chance, 0.01);
    for (const char* const bad : {R"({"link.ratio": "3"})", R"({"nothing": 3})", R"([1])", "no JSON"}) {
        const auto file = scratch.write("bad.json", bad);
        const Status status = readThresholds(thresholds, file);
        ASSERT_FALSE(status.ok()) << bad;
        EXPECT_EQ(status.error().kind, ErrorKind::Input);
        EXPECT_NE(status.error().text().find("bad.json"), std::string::npos) << status.error().text();
    }
}

} // namespace
} // namespace bubblescope
