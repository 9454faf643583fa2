// The cost of a job from step to step: the step, the time between steps, and long steps now and then.

#include "core/analysis/anomalies/occurrence.h"
#include "core/analysis/period/host_activity.h"
#include "core/analysis/period/step_period.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/formats/perfetto/capture_names.h"
#include "core/trace/trace_builder.h"
#include "tests/unit/analysis/simulated_run.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bubblescope {
namespace {

using namespace test;

constexpr TimeNs kStall = 6 * kForward;

/// Steps with this time between them.
bubblescope::Run spacedRun(
    int steps, const std::function<TimeNs(int)>& gap,
    const std::function<TimeOf(int)>& factor = [](int) { return [](Rank, const Op&) { return 1.0; }; }) {
    bubblescope::Run run = makeRunOf(k1F1B, steps, factor);
    TimeNs begin{0};
    for (StepTimeline& step : run.steps) {
        shift(step, begin - step.begin);
        begin = step.end + gap(step.index);
    }
    return run;
}

bubblescope::Run evenRun(int steps, TimeNs gap) {
    return spacedRun(steps, [gap](int) { return gap; });
}

/// Separate files for all ranks, with slices of their ops and of one rank's work after a step.
void addMarks(bubblescope::Run& run, Rank rank, const std::string& name,
              const std::function<TimeInterval(std::size_t)>& behind) {
    TraceBuilder builder;
    for (int r = 0; r < run.schedule.pp; ++r) {
        builder.addFile({"rank" + std::to_string(r), "kineto", r, "host"});
        const TrackId track = builder.addTrack(r, 1);
        for (std::size_t s = 0; s < run.steps.size(); ++s) {
            for (const TimelineOp& op : run.steps[s].ranks[Rank{r}.index()])
                builder.addSlice({track, op.start, op.duration(), builder.intern(opName(op.op)), 0, 0});
            if (rank != Rank{r} || s + 1 == run.steps.size()) continue;
            const TimeInterval time = behind(s);
            if (time.duration() > TimeNs{0})
                builder.addSlice({track, time.start, time.duration(), builder.intern(name), 0, 0});
        }
    }
    DiagnosticLog log;
    run.trace = builder.finish(log);
}

TEST(Period, IsTheMeanFromBeginToBegin) {
    const auto run = spacedRun(9, [](int step) { return step == 4 ? 10 * kForward : kForward; });
    const StepPeriod period = analyzeRun(run).period;
    EXPECT_EQ(period.periods, 8U);
    EXPECT_EQ(period.step, run.steps[0].wall());
    EXPECT_EQ(period.between, kForward);
    EXPECT_EQ(period.period(), (run.steps.back().begin - run.steps.front().begin) / 8);
    EXPECT_EQ(period.rare, 9 * kForward / 8);
    EXPECT_EQ(period.long_steps.size(), 0U);
}

TEST(Period, OfStepsThatOverlapIsShorterThanTheStep) {
    const auto run = evenRun(8, -kForward);
    const RunReport report = analyzeRun(run);
    EXPECT_EQ(report.period.between, -kForward);
    EXPECT_EQ(report.period.rare, TimeNs{0});
    EXPECT_EQ(report.period.period(), run.steps[0].wall() - kForward);
    EXPECT_TRUE(ofKind(report, AnomalyKind::TimeBetweenSteps).empty());
}

TEST(Period, OfOneStepIsUnknown) {
    EXPECT_EQ(analyzeRun(evenRun(1, kForward)).period.periods, 0U);
}

TEST(Period, SkipsMissingSteps) {
    auto run = evenRun(6, kForward);
    run.steps.erase(run.steps.begin() + 2);
    const StepPeriod period = analyzeRun(run).period;
    EXPECT_EQ(period.periods, 3U);
    EXPECT_EQ(period.rare, TimeNs{0});
}

TEST(TimeBetweenSteps, IsToldWithWhoBeginsTheNext) {
    const auto found = ofKind(analyzeRun(evenRun(8, kStall)), AnomalyKind::TimeBetweenSteps);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].rank, Rank{0});
    EXPECT_EQ(found[0].cost, kStall);
    EXPECT_EQ(found[0].seen.steps, 7);
    EXPECT_TRUE(ofKind(analyzeRun(evenRun(8, kForward)), AnomalyKind::TimeBetweenSteps).empty()) << "below 5 %";
}

TEST(TimeBetweenSteps, OfOptimizersIsTheStepsOwn) {
    auto run = evenRun(8, kStall);
    for (StepTimeline& step : run.steps) {
        for (auto& ops : step.ranks)
            ops.emplace_back(Op{OpKind::Optimizer, Microbatch{0}, Chunk{0}}, step.end, step.end + kStall);
    }
    EXPECT_TRUE(ofKind(analyzeRun(run), AnomalyKind::TimeBetweenSteps).empty());
}

TEST(TimeBetweenSteps, IsNamedByWhatTheHostDoes) {
    for (const auto& [name, activity] :
         {std::pair("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "data loading"),
          std::pair("LoadMicroBatch", "data loading"), std::pair("gc", "garbage collection"),
          std::pair("save_checkpoint", "checkpoint"), std::pair("evaluate_and_print_results", "evaluation")}) {
        SCOPED_TRACE(name);
        auto run = evenRun(8, kStall);
        addMarks(run, Rank{2}, name, [&](std::size_t s) {
            return TimeInterval{run.steps[s].end, run.steps[s + 1].begin};
        });
        const RunReport report = analyzeRun(run);
        const auto found = ofKind(report, AnomalyKind::TimeBetweenSteps);
        ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(found[0].rank, Rank{2});
        EXPECT_EQ(found[0].cost, kStall);
        EXPECT_NE(found[0].message.text().find(activity), std::string::npos) << found[0].message.text();
        ASSERT_EQ(report.period.activities.size(), 1U);
        EXPECT_EQ(report.period.activities[0].rank, Rank{2});
        EXPECT_EQ(report.period.activities[0].time, kStall);
    }
    EXPECT_FALSE(activityNamed("aten::mm"));
    EXPECT_FALSE(activityNamed("CheckpointFunctionBackward"));
}

TEST(LongSteps, OfASlowRankAreToldWithTheirRhythm) {
    const auto run = spacedRun(
        30, [](int) { return kForward / 10; },
        [](int step) {
            return [step](Rank rank, const Op& op) {
                const bool slow = step % 5 == 3 && rank == Rank{1} && op.microbatch == Microbatch{4};
                return slow ? 4.0 : 1.0;
            };
        });
    const RunReport report = analyzeRun(run);
    const auto slow = ofKind(report, AnomalyKind::SlowOp);
    ASSERT_EQ(slow.size(), 1U);
    EXPECT_EQ(slow[0].rank, Rank{1});
    EXPECT_EQ(rhythmOf(slow[0].seen), 5);
    EXPECT_EQ(report.period.every, 5);
    EXPECT_EQ(report.period.long_steps.size(), 6U);
    EXPECT_TRUE(ofKind(report, AnomalyKind::LongSteps).empty()) << "the slow ops explain them";
}

TEST(LongSteps, WithoutSlowOpsAreTold) {
    auto run = evenRun(30, kForward / 10);
    TimeNs later{0};
    for (StepTimeline& step : run.steps) {
        shift(step, later);
        if (step.index % 7 != 2) continue;
        const TimeNs middle = step.begin + step.wall() / 2; // all ranks pause
        for (auto& ops : step.ranks) {
            for (TimelineOp& op : ops) {
                if (op.start < middle) continue;
                op.start += 10 * kForward;
                op.end += 10 * kForward;
            }
        }
        for (auto& spans : step.comm)
            spans.clear();
        step.fitWindow();
        later += 10 * kForward;
    }
    const RunReport report = analyzeRun(run);
    const auto found = ofKind(report, AnomalyKind::LongSteps);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_FALSE(found[0].rank);
    EXPECT_EQ(found[0].seen.steps, 4);
    EXPECT_EQ(rhythmOf(found[0].seen), 7);
    EXPECT_NEAR(static_cast<double>(found[0].cost.count()), 10e6, 1e5);
}

/// In every fifth step all but the first forwards of rank 0 wait for rank 1, which starts late.
bubblescope::Run runWithLateRank() {
    auto late = evenRun(30, kForward / 10);
    TimeNs later{0};
    for (StepTimeline& step : late.steps) {
        shift(step, later);
        if (step.index % 5 != 1) continue;
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            for (TimelineOp& op : step.ranks[r]) {
                if (r == 0 && op.op.kind == OpKind::Forward && op.start < step.begin + 4 * kForward) continue;
                op.start += 10 * kForward;
                op.end += 10 * kForward;
            }
        }
        for (auto& spans : step.comm)
            spans.clear();
        step.fitWindow();
        later += 10 * kForward;
    }
    return late;
}

TEST(TimeBetweenSteps, OfOneRankDelaysTheNextStep) {
    auto run = runWithLateRank();
    addMarks(run, Rank{1}, "gc", [&](std::size_t s) {
        const TimeNs until = run.steps[s + 1].ranks[1].front().start;
        return TimeInterval{run.steps[s + 1].index % 5 == 1 ? until - 10 * kForward : until, until};
    });
    const RunReport report = analyzeRun(run);
    const auto found = ofKind(report, AnomalyKind::TimeBetweenSteps);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].rank, Rank{1});
    EXPECT_EQ(found[0].cost, 10 * kForward);
    EXPECT_EQ(rhythmOf(found[0].seen), 5);
    EXPECT_NE(found[0].message.text().find("garbage collection on rank 1 costs"), std::string::npos)
        << found[0].message.text();
    EXPECT_TRUE(ofKind(report, AnomalyKind::LongSteps).empty()) << "they are explained";
}

TEST(LongSteps, NameARankThatStartsLate) {
    const auto run = runWithLateRank();
    const auto found = ofKind(analyzeRun(run), AnomalyKind::LongSteps);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].rank, Rank{1});
    EXPECT_EQ(rhythmOf(found[0].seen), 5);
    EXPECT_NE(found[0].message.text().find("one step in 5"), std::string::npos) << found[0].message.text();
}

/// Rank 1 takes half as long again for each op, and that half it waits for a core.
TEST(StarvedHosts, AreNamedWithWhatTheyCost) {
    auto run =
        makeRunOf(k1F1B, 12, [](int) { return [](Rank rank, const Op&) { return rank == Rank{1} ? 1.5 : 1.0; }; });
    TraceBuilder builder;
    for (int r = 0; r < run.schedule.pp; ++r) {
        builder.addFile({"rank" + std::to_string(r), "perfetto", r, "host"});
        const TrackId ops = builder.addTrack(r, 1);
        const TrackId waits = builder.addTrack(r, 2);
        for (const StepTimeline& step : run.steps) {
            for (const TimelineOp& op : step.ranks[Rank{r}.index()]) {
                builder.addSlice({ops, op.start, op.duration(), builder.intern(opName(op.op)), 0, 0});
                if (r != 1) continue;
                const TimeNs waited = op.duration() / 3;
                builder.addSlice({waits, op.end - waited, waited, builder.intern(perfetto::kCaptureWaitForCore), 0, 0});
            }
        }
    }
    DiagnosticLog log;
    run.trace = builder.finish(log);
    const RunReport report = analyzeRun(run);
    const auto found = ofKind(report, AnomalyKind::HostStarved);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].rank, Rank{1});
    const auto even = makeRunOf(k1F1B, 1, [](int) { return [](Rank, const Op&) { return 1.0; }; });
    const TimeNs saved = run.steps[6].wall() - even.steps[0].wall();
    EXPECT_NEAR(static_cast<double>(found[0].cost.count()), static_cast<double>(saved.count()),
                0.02 * static_cast<double>(saved.count()));
    EXPECT_TRUE(report.period.activities.empty()) << "it is not something that the rank does between steps";
}

TEST(Rhythm, NeedsThreeAtEqualDistance) {
    EXPECT_EQ(rhythmOf(std::vector<int>{3, 8, 13}), 5);
    EXPECT_FALSE(rhythmOf(std::vector<int>{3, 8}));
    EXPECT_FALSE(rhythmOf(std::vector<int>{3, 8, 14}));
    EXPECT_FALSE(rhythmOf(std::vector<int>{3, 4, 5})) << "each step";
}

} // namespace
} // namespace bubblescope
