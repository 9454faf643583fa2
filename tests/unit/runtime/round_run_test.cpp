// Stages that go round the ranks: the reference's weights and losses, and the simulation's times.

#include "core/families/registry.h"
#include "tests/unit/runtime/moving_run.h"
#include "tests/unit/runtime/trained_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope::runtime {
namespace {

RunConfig configOf(int p, int m, int v) {
    const MovingStages moving{p, m, p * v, p * v};
    RunConfig config = test::smallRun(movingOrder(moving).value());
    config.round = RoundOrder{moving};
    config.schedule.vpp = v;
    config.model.heads = 2;
    config.steps = 3;
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
            EXPECT_EQ(test::expectTheReferencesWeights(config).ops, 3 * (2 * p * v * m + p));
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
    const RunSummary of_round = test::trained(round);
    const RunSummary of_pipeline = test::trained(pipeline);
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
            const MovingTimes times{config.times.times.forward, config.times.times.backward, config.times.comm,
                                    weights};
            test::expectTheStep(config, simulateMoving(config.round->moving, times).value(),
                                [&](const EngineParts& parts, JobControl& control) {
                                    return runMovingStages(config, *config.round, parts, control);
                                });
        }
    });
}

TEST(RoundRun, StoresActivationsOfOneMicrobatch) {
    const RunConfig config = configOf(2, 8, 2);
    const RunSummary ran = test::trained(config);
    RunConfig pipeline = config;
    pipeline.round.reset();
    pipeline.schedule = makeSchedule({"looped-bfs", "", 2, 8, 2}).value();
    const RunSummary of_pipeline = test::trained(pipeline);
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
    test::expectAFailedRank(
        config, [](const StageTask& task) { return task.place == 1; },
        [&](const EngineParts& parts, JobControl& control) {
            return runMovingStages(config, *config.round, parts, control);
        });
}

TEST(RoundRun, RejectsWhatItCannotDo) {
    const auto rejected = [](auto change) {
        RunConfig config = configOf(2, 4, 1);
        change(config);
        return test::isRejected(config);
    };
    EXPECT_FALSE(rejected([](RunConfig&) {}));
    EXPECT_TRUE(rejected([](RunConfig& config) { config.replicas = 2; }));
    EXPECT_TRUE(rejected([](RunConfig& config) { config.faults.emplace_back(); }));
    EXPECT_TRUE(rejected([](RunConfig& config) { config.round->moving.backward_stages = 4; }));
    EXPECT_TRUE(rejected([](RunConfig& config) { config.round->moving.microbatches = 0; }));
}

} // namespace
} // namespace bubblescope::runtime
