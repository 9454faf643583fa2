// Weights that travel from rank to rank: the reference's weights and losses, and the simulation's times.

#include "core/families/registry.h"
#include "tests/unit/runtime/moving_run.h"
#include "tests/unit/runtime/trained_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stop_token>
#include <utility>

namespace bubblescope::runtime {
namespace {

RunConfig configOf(const MovingWeights& moving) {
    RunConfig config = test::smallRun({});
    config.weights = WeightOrder{moving};
    config.schedule.name = weightPathName(moving.path);
    config.schedule.pp = moving.pp;
    config.schedule.microbatches = moving.microbatches;
    config.schedule.ranks = movingWeightsOrder(moving).value().ranks;
    config.model.heads = 2;
    config.steps = 3;
    return config;
}

template <class Visit>
void eachOrder(Visit visit) {
    const auto visitAll = [&](WeightPath path, int p, int nodes) {
        for (int m = 1; m <= 2 * p + 1; ++m) {
            SCOPED_TRACE(fmt::format("{} p {} m {} nodes {}", weightPathName(path), p, m, nodes));
            visit(MovingWeights{path, p, m, nodes});
        }
    };
    for (const WeightPath path : {WeightPath::Ring, WeightPath::RingNaive, WeightPath::RingSplit})
        for (const int p : {1, 2, 3, 4})
            visitAll(path, p, 1);
    for (const auto& [p, nodes] : {std::pair{1, 1}, {2, 1}, {2, 2}, {3, 3}, {4, 2}, {6, 3}})
        visitAll(WeightPath::Nodes, p, nodes);
}

TEST(WeightRun, TrainsToTheReferencesWeights) {
    int runs = 0;
    eachOrder([&](const MovingWeights& moving) {
        const RunConfig config = configOf(moving);
        const RunSummary ran = test::trained(config);
        const auto reference = runReference(config);
        ASSERT_TRUE(reference.ok()) << reference.error().text();
        EXPECT_EQ(ran.weights_digest, reference.value().weights_digest);
        const bool split = moving.path == WeightPath::RingSplit;
        for (std::size_t i = 0; i < 3; ++i) // the split order adds the losses in another order
            EXPECT_NEAR(ran.losses[i], reference.value().losses[i], split ? 1e-12 : 0);
        EXPECT_EQ(ran.ops, 3 * ((split ? 3 : 2) * moving.pp * moving.microbatches + moving.pp));
        ++runs;
    });
    EXPECT_EQ(runs, 3 * (3 + 5 + 7 + 9) + 3 + 5 + 5 + 7 + 9 + 13);
}

TEST(WeightRun, EqualsAPipelineWithTheSameStages) {
    RunConfig ring = configOf({WeightPath::Ring, 3, 5, 1});
    ring.model.optimizer.rule = OptimizerConfig::Rule::Muon;
    ring.model.layers_per_stage = 2;
    RunConfig pipeline = ring;
    pipeline.weights.reset();
    pipeline.schedule = makeSchedule({"1f1b", "", 3, 5, 1}).value();
    const RunSummary of_ring = test::trained(ring);
    const RunSummary of_pipeline = test::trained(pipeline);
    EXPECT_EQ(of_ring.weights_digest, of_pipeline.weights_digest);
    EXPECT_EQ(of_ring.losses, of_pipeline.losses);
    ASSERT_EQ(of_ring.memory.size(), 3U);
    for (const MemoryUse& rank : of_ring.memory)
        EXPECT_GT(rank.optimizer, 0);
}

TEST(WeightRun, PacedRunEqualsSimulationToTheNanosecond) {
    eachOrder([](const MovingWeights& moving) {
        for (const TimeNs message : {TimeNs{0}, TimeNs{400'000}, TimeNs{7'000'000}}) {
            RunConfig config = configOf(moving);
            config.paced = true;
            config.pace_tolerance = test::kForgiving;
            config.steps = 2;
            config.times = test::someTimes(TimeNs{0});
            config.weights->weights = message;
            config.weights->gradients = message / 2;
            config.weights->between_nodes = message / 4;
            const auto stages = static_cast<std::size_t>(moving.pp);
            const MovingWeightTimes times{std::vector(stages, config.times.times.forward),
                                          std::vector(stages, config.times.times.backward),
                                          message,
                                          message / 2,
                                          message / 4,
                                          std::vector(stages, config.times.times.weight_grad)};
            test::expectTheStep(config, simulateMovingWeights(moving, times).value().step,
                                [&](const EngineParts& parts, JobControl& control) {
                                    return runTravellingWeights(config, *config.weights, parts, control);
                                });
        }
    });
}

/// A rank stores the optimizer's state of its own stage only, and few columns of weights.
void expectFewColumns(const MovingWeights& moving) {
    const RunConfig config = configOf(moving);
    const RunSummary ran = test::trained(config);
    std::int64_t weights = 0;
    std::int64_t largest = 0;
    for (int s = 0; s < 4; ++s) {
        const MemoryUse stage = makeCpuStage(config.model, DataPlan(config.schedule).taskOf(Stage{s}))->memory();
        weights += stage.weights;
        largest = std::max(largest, stage.weights);
    }
    std::int64_t optimizer = 0;
    for (const MemoryUse& rank : ran.memory) {
        EXPECT_LE(rank.weights, 3 * largest);
        EXPECT_LE(rank.gradients, 2 * largest);
        optimizer += rank.optimizer;
    }
    EXPECT_EQ(optimizer, 2 * weights);
}

TEST(WeightRun, StoresTheWeightsOfFewStages) {
    expectFewColumns({WeightPath::Ring, 4, 8, 1});
    expectFewColumns({WeightPath::RingNaive, 4, 8, 1});
    expectFewColumns({WeightPath::RingSplit, 4, 8, 1});
    expectFewColumns({WeightPath::Nodes, 4, 8, 2});
}

TEST(WeightRun, EndsAfterTheStepInWhichAStopIsRequested) {
    RunConfig config = configOf({WeightPath::Ring, 2, 4, 1});
    std::stop_source stop;
    stop.request_stop();
    config.end_early = stop.get_token();
    JobControl control;
    EXPECT_EQ(runPipeline(config, control).value().losses.size(), 1U);
}

TEST(WeightRun, ReportsARankThatFails) {
    const RunConfig config = configOf({WeightPath::Ring, 3, 6, 1});
    test::expectAFailedRank(
        config, [](const StageTask& task) { return task.place == 1 && task.gradient_per_piece; },
        [&](const EngineParts& parts, JobControl& control) {
            return runTravellingWeights(config, *config.weights, parts, control);
        });
}

TEST(WeightRun, RejectsWhatItCannotDo) {
    const auto rejected = [](auto change) {
        RunConfig config = configOf({WeightPath::Ring, 2, 4, 1});
        change(config);
        return test::isRejected(config);
    };
    EXPECT_FALSE(rejected([](RunConfig&) {}));
    EXPECT_TRUE(rejected([](RunConfig& config) { config.replicas = 2; }));
    EXPECT_TRUE(rejected([](RunConfig& config) { config.tensor_ranks = 2; }));
    EXPECT_TRUE(rejected([](RunConfig& config) { config.adapt = true; }));
    EXPECT_TRUE(rejected([](RunConfig& config) { config.faults.emplace_back(); }));
    EXPECT_TRUE(rejected([](RunConfig& config) { config.steps = 0; }));
}

} // namespace
} // namespace bubblescope::runtime
