// Runs of the CPU runtime, paced: the engine trains a small model and ops take what the cost model says. Faults are put
// in by times that the analysis is not given, or injected as `run --inject` does. Most run on a host whose time passes
// only during sleeps, so that they are exact and fast; a few on the real clock, through files.

#include "core/analysis/steps/run_analyzer.h"
#include "core/cost/measured_times.h"
#include "core/graph/simulate.h"
#include "runtime/faults/fault.h"
#include "runtime/run.h"
#include "tests/campaign/tally.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/runtime/engine_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace bubblescope::campaign {
namespace {

using Random = std::mt19937_64;

double uniform(Random& random, double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
}

/// Stages differ a little, as those of real models do.
constexpr double kStageSpread = 0.005;
constexpr int kSteps = 5;

/// Times of every stage, with the fault where it has one.
CostModel costsOf(const Schedule& schedule, const Fault& fault, Random random) {
    const double forward = uniform(random, 2e6, 2e7);
    CostModel costs;
    costs.comm = TimeNs{std::llround(forward * uniform(random, 0.002, 0.015))};
    for (int stage = 0; stage < schedule.stages(); ++stage) {
        const Location place = locate(schedule.placement, schedule.pp, Stage{stage});
        double factor = uniform(random, 1 - kStageSpread, 1 + kStageSpread);
        const bool of_stage = fault.kind == FaultKind::SlowStage && place.chunk == fault.chunk;
        if (place.rank == fault.rank && (of_stage || fault.kind == FaultKind::SlowRank)) factor *= 1 + fault.size;
        const TimeNs time{std::llround(forward * factor)};
        costs.stages.push_back(makeOpTimes(time, 2 * time, {}, {}).value());
    }
    return costs;
}

Fault drawFault(const Schedule& schedule, FaultKind kind, Random& random) {
    Fault fault;
    fault.kind = kind;
    fault.rank = Rank{static_cast<std::int32_t>(random() % static_cast<unsigned>(schedule.pp))};
    fault.chunk = Chunk{static_cast<std::int32_t>(random() % static_cast<unsigned>(schedule.vpp))};
    fault.size = uniform(random, 0.05, 0.5);
    if (kind != FaultKind::SlowOp) return fault;
    const std::vector<Op>& ops = schedule.ranks[fault.rank.index()];
    do { // the slow half of a pair cannot be determined
        fault.op = ops[random() % ops.size()];
    } while (fault.op.overlapped);
    fault.step = 1 + static_cast<int>(random() % (kSteps - 1)); // the first step's slow ops count as warm-up
    fault.size = uniform(random, 1, 4);
    return fault;
}

/// The fault as `run --inject` takes it, where it is none of the times of stages; nothing where it is.
std::vector<runtime::Fault> injected(const Fault& fault) {
    if (fault.kind != FaultKind::SlowOp) return {};
    const std::string text = fmt::format("op:{},rank={},step={},factor={:.3f}", opName(fault.op), fault.rank.value,
                                         fault.step, 1 + fault.size);
    return {runtime::parseFault(text).value()};
}

double costOf(const Schedule& schedule, const CostModel& with, const CostModel& without) {
    const auto wall = [&](const CostModel& costs) {
        return static_cast<double>(simulate(schedule, costs).value().wall().count());
    };
    return wall(with) / wall(without) - 1;
}

/// The costs of the step that a single slow op strikes.
CostModel withSlowOp(const Schedule& schedule, CostModel costs, const Fault& fault) {
    auto times = std::make_shared<MeasuredTimes>();
    const Stage stage = schedule.stageOf(fault.rank, fault.op.chunk);
    const auto usual = static_cast<double>(costs.opTime(fault.op.kind, stage).count());
    times->setOp(fault.rank, fault.op, TimeNs{std::llround(usual * (1 + fault.size))});
    costs.measured = std::move(times);
    return costs;
}

/// The ranks' recordings, as loaded from their files.
std::vector<StepTimeline> stepsOf(const runtime::test::EngineRun& engine) {
    std::vector<StepTimeline> steps;
    for (int index = 0; index < engine.steps; ++index) {
        StepTimeline& step = steps.emplace_back();
        step.index = index;
        step.pp = engine.schedule.pp;
        step.vpp = engine.schedule.vpp;
        step.microbatches = engine.schedule.microbatches;
        step.placement = engine.schedule.placement;
        for (const auto& records : engine.records) {
            auto& ops = step.ranks.emplace_back();
            auto& spans = step.comm.emplace_back();
            for (const profiler::SliceRecord& record : records) {
                if (record.step != index) continue;
                if (record.category == profiler::SliceRecord::Category::Op) {
                    ops.push_back(record.asOp());
                } else {
                    spans.push_back(record.asComm());
                }
            }
            std::ranges::stable_sort(ops, {}, &TimelineOp::start);
            std::ranges::stable_sort(spans, {}, &CommSpan::start);
        }
        step.fitWindow();
    }
    return steps;
}

/// A run with a fault of this kind, `seed` after `seed` the same.
Job pacedJob(const ScheduleSpec& spec, FaultKind kind, std::uint64_t seed) {
    Random random(seed);
    Job job;
    const Schedule schedule = makeSchedule(spec).value();
    job.fault = drawFault(schedule, kind, random);
    const CostModel costs = costsOf(schedule, job.fault, random);
    job.cost = kind == FaultKind::SlowOp ? costOf(schedule, withSlowOp(schedule, costs, job.fault), costs)
                                         : costOf(schedule, costs, costsOf(schedule, {}, random));
    runtime::test::EngineRun engine(schedule, costs);
    engine.faults = injected(job.fault);
    engine.steps = kSteps;
    const auto result = engine.run();
    EXPECT_TRUE(result.ok()) << result.error().text();
    job.run.schedule = schedule;
    job.run.steps = stepsOf(engine);
    return job;
}

TEST(PacedCampaign, NoFalseAlarmInCleanRuns) {
    const int runs = full() ? 70 : 7;
    int alarms = 0;
    for (int i = 0; i < runs; ++i) {
        const auto specs = schedules();
        Job job = pacedJob(specs[static_cast<std::size_t>(i) % specs.size()], FaultKind::None,
                           5000 + static_cast<std::uint64_t>(i));
        const auto diagnosed = diagnoseRun(job.run);
        ASSERT_TRUE(diagnosed.ok()) << diagnosed.error().text();
        alarms += diagnosed.value().report.anomalies.empty() ? 0 : 1;
        EXPECT_TRUE(diagnosed.value().report.anomalies.empty()) << i << ": " << describe(job, diagnosed.value().report);
    }
    fmt::print("clean paced runs: {}, with a finding: {}\n", runs, alarms);
}

TEST(PacedCampaign, FindsFaultsAndBlamesTheRightRank) {
    const int runs = full() ? 10 : 2; // of each schedule and kind
    Tally tally;
    std::uint64_t seed = 6000;
    for (const ScheduleSpec& spec : schedules()) {
        for (const FaultKind kind : {FaultKind::SlowRank, FaultKind::SlowStage, FaultKind::SlowOp}) {
            for (int i = 0; i < runs; ++i, ++seed) {
                Job job = pacedJob(spec, kind, seed);
                const auto diagnosed = diagnoseRun(job.run);
                ASSERT_TRUE(diagnosed.ok()) << diagnosed.error().text();
                tally.add(job, diagnosed.value().report, fmt::format("{} seed {}", spec.name, seed));
            }
        }
    }
    tally.print();
    EXPECT_GE(tally.told(), 0.99 * tally.due());
    EXPECT_GE(tally.blamedFirst(), 0.99 * tally.told());
    EXPECT_LE(tally.costError(), 0.05);
}

// On the real clock, recorded to files and loaded again. The tolerance is far above what a busy machine adds, so that
// ops take their nominal times.
TEST(PacedCampaign, TheRealClockTellsTheSame) {
    int late = 0;
    Tally tally;
    for (const FaultKind kind : {FaultKind::None, FaultKind::SlowRank, FaultKind::SlowStage}) {
        Random random(7000 + static_cast<std::uint64_t>(kind));
        const Schedule schedule = makeSchedule({"1f1b", "", 4, 6, 1}).value();
        Job job;
        job.fault = drawFault(schedule, kind, random);
        job.fault.size = 0.4;
        const test::ScratchFolder folder;
        runtime::RunConfig config;
        config.schedule = schedule;
        config.steps = 3;
        config.times = costsOf(schedule, job.fault, random);
        for (OpTimes& times : config.times.stages) {
            for (TimeNs* const time : {&times.forward, &times.backward, &times.input_grad, &times.weight_grad})
                *time = *time / 4;
        }
        config.pace_tolerance = TimeNs{500'000'000};
        config.out_dir = folder.path();
        job.cost = kind == FaultKind::None ? 0 : 1;
        JobControl control;
        const auto summary = runtime::runPipeline(config, control);
        ASSERT_TRUE(summary.ok()) << summary.error().text();
        late += summary.value().late_ops > 0 ? 1 : 0;
        auto run = loadRun(summary.value().files, control);
        ASSERT_TRUE(run.ok()) << run.error().text();
        job.run = std::move(run).value();
        const auto diagnosed = diagnoseRun(job.run);
        ASSERT_TRUE(diagnosed.ok()) << diagnosed.error().text();
        if (late > 0) continue;
        if (kind != FaultKind::None) {
            tally.add(job, diagnosed.value().report, "real clock");
            continue;
        }
        EXPECT_TRUE(std::ranges::none_of(diagnosed.value().report.anomalies, [](const Anomaly& a) {
            return a.severity != Severity::Notice;
        })) << describe(job, diagnosed.value().report);
    }
    if (late > 0) GTEST_SKIP() << "the machine is too busy: " << late << " runs had ops half a second late";
    EXPECT_EQ(tally.blamedFirst(), tally.due());
}

} // namespace
} // namespace bubblescope::campaign
