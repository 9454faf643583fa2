// Stages that go round the ranks: the reference's weights and losses, and the simulation's times.

#include "core/families/registry.h"
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/comm/inproc/in_process_transport.h"
#include "runtime/run.h"
#include "tests/support/reference_run.h"
#include "tests/unit/runtime/engine_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope::runtime {
namespace {

using ::testing::HasSubstr;

RunConfig configOf(int p, int m, int v) {
    RunConfig config;
    const MovingStages moving{p, m, p * v, p * v};
    config.round = RoundOrder{moving};
    config.schedule = movingOrder(moving).value();
    config.schedule.vpp = v;
    config.model.width = 6;
    config.model.heads = 2;
    config.model.sequence = 5;
    config.steps = 3;
    config.paced = false;
    return config;
}

template <class Visit>
void eachSize(Visit visit) {
    for (const int p : {1, 2, 3, 4})
        for (const int v : {1, 2, 3})
            for (int m = 1; m <= 2 * p + 1; ++m) {
                SCOPED_TRACE(fmt::format("p {} v {} m {}", p, v, m));
                visit(p, m, v);
            }
}

TEST(RoundRun, TrainsToTheReferencesWeights) {
    int runs = 0;
    eachSize([&](int p, int m, int v) {
        for (const int layers : {0, 1, 2}) {
            RunConfig config = configOf(p, m, v);
            config.model.cut.assign(static_cast<std::size_t>(p * v), layers);
            config.model.cut.back() = 1;
            JobControl control;
            const auto ran = runPipeline(config, control);
            ASSERT_TRUE(ran.ok()) << ran.error().text();
            const auto reference = runReference(config);
            ASSERT_TRUE(reference.ok()) << reference.error().text();
            EXPECT_EQ(ran.value().weights_digest, reference.value().weights_digest);
            EXPECT_EQ(ran.value().losses, reference.value().losses);
            EXPECT_EQ(ran.value().ops, 3 * (2 * p * v * m + p));
            EXPECT_EQ(control.done, control.total);
            ++runs;
        }
    });
    EXPECT_EQ(runs, 3 * 3 * (3 + 5 + 7 + 9));
}

TEST(RoundRun, EqualsAPipelineWithTheSameStages) {
    RunConfig round = configOf(3, 6, 2);
    round.model.optimizer.rule = OptimizerConfig::Rule::Muon;
    RunConfig pipeline = round;
    pipeline.round.reset();
    pipeline.schedule = makeSchedule({"interleaved", "", 3, 6, 2}).value();
    JobControl control;
    const RunSummary of_round = runPipeline(round, control).value();
    const RunSummary of_pipeline = runPipeline(pipeline, control).value();
    EXPECT_EQ(of_round.weights_digest, of_pipeline.weights_digest);
    EXPECT_EQ(of_round.losses, of_pipeline.losses);
}

TEST(RoundRun, PacedRunEqualsSimulationToTheNanosecond) {
    eachSize([](int p, int m, int v) {
        for (const TimeNs weights : {TimeNs{0}, TimeNs{7'000'000}, TimeNs{70'000'000}}) {
            RunConfig config = configOf(p, m, v);
            config.paced = true;
            config.pace_tolerance = test::kForgiving;
            config.steps = 2;
            config.times = test::someTimes(weights / 10);
            config.round->weights = weights;
            test::FakeClock clock;
            InProcessTransports transports(p, clock, std::nullopt);
            const EngineParts parts{
                .clock = clock,
                .make_stage = [&](const StageTask& task) { return makeCpuStage(config.model, task); },
                .ranks = transports.ends()};
            JobControl control;
            const Result<MovingRunResult> ran = runMovingStages(config, *config.round, parts, control);
            ASSERT_TRUE(ran.ok()) << ran.error().text();
            EXPECT_EQ(ran.value().engine.late_ops, 0);

            const MovingTimes times{config.times.times.forward, config.times.times.backward, config.times.comm,
                                    weights};
            const StepTimeline expected = simulateMoving(config.round->moving, times).value();
            const StepTimeline& last = ran.value().last;
            EXPECT_EQ(ran.value().walls, std::vector(2, expected.wall()));
            for (std::size_t r = 0; r < last.ranks.size(); ++r) {
                ASSERT_EQ(last.ranks[r].size(), expected.ranks[r].size());
                for (std::size_t i = 0; i < last.ranks[r].size(); ++i) {
                    EXPECT_EQ(last.ranks[r][i].op, expected.ranks[r][i].op);
                    EXPECT_EQ(last.ranks[r][i].start - last.begin, expected.ranks[r][i].start);
                    EXPECT_EQ(last.ranks[r][i].end - last.begin, expected.ranks[r][i].end);
                }
            }
        }
    });
}

TEST(RoundRun, StoresActivationsOfOneMicrobatch) {
    const RunConfig config = configOf(2, 8, 2);
    JobControl control;
    const RunSummary ran = runPipeline(config, control).value();
    RunConfig pipeline = config;
    pipeline.round.reset();
    pipeline.schedule = makeSchedule({"looped-bfs", "", 2, 8, 2}).value();
    const RunSummary of_pipeline = runPipeline(pipeline, control).value();
    const auto most = [](const RunSummary& summary) {
        return std::ranges::max(summary.memory, {}, &MemoryUse::activations).activations;
    };
    EXPECT_LT(2 * most(ran), most(of_pipeline)) << "inputs are stored, but are smaller than activations";
    for (std::size_t r = 0; r < 2; ++r) {
        EXPECT_EQ(ran.memory[r].optimizer, of_pipeline.memory[r].optimizer);
        EXPECT_GT(ran.memory[r].weights, of_pipeline.memory[r].weights) << "and the copy that runs";
    }
}

TEST(RoundRun, ReportsARankThatFails) {
    const RunConfig config = configOf(3, 6, 1);
    MonotonicClock clock;
    InProcessTransports transports(3, clock, TimeNs{60'000'000'000});
    const EngineParts parts{.clock = clock,
                            .make_stage = [&](const StageTask& task) -> std::unique_ptr<StageModel> {
                                if (task.place == 1) throw std::bad_alloc();
                                return makeCpuStage(config.model, task);
                            },
                            .ranks = transports.ends()};
    JobControl control;
    const auto ran = runMovingStages(config, *config.round, parts, control);
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().kind, ErrorKind::Run);
    EXPECT_THAT(ran.error().text(), HasSubstr("rank"));
}

TEST(RoundRun, RejectsWhatItCannotDo) {
    const auto rejected = [](auto change) {
        RunConfig config = configOf(2, 4, 1);
        change(config);
        JobControl control;
        const auto ran = runPipeline(config, control);
        return !ran.ok() && ran.error().kind == ErrorKind::Usage;
    };
    EXPECT_FALSE(rejected([](RunConfig&) {}));
    EXPECT_TRUE(rejected([](RunConfig& config) { config.replicas = 2; }));
    EXPECT_TRUE(rejected([](RunConfig& config) { config.faults.emplace_back(); }));
    EXPECT_TRUE(rejected([](RunConfig& config) { config.round->moving.backward_stages = 4; }));
    EXPECT_TRUE(rejected([](RunConfig& config) { config.round->moving.microbatches = 0; }));
}

} // namespace
} // namespace bubblescope::runtime
