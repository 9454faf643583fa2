// Encoders before a trunk: the reference's weights and losses, and the simulation's times and transfers.

#include "core/families/registry.h"
#include "tests/unit/runtime/engine_run.h"
#include "tests/unit/runtime/schedules.h"
#include "tests/unit/runtime/trained_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>

namespace bubblescope::runtime {
namespace {

Schedule scheduleOf(Encoders encoders, int trunk, int microbatches) {
    ScheduleSpec spec{"1f1b", "", encoders.ranks() + trunk, microbatches, 1};
    spec.encoders = encoders;
    return makeSchedule(spec).value();
}

RunConfig configOf(Schedule schedule) {
    RunConfig config = test::smallRun(std::move(schedule));
    config.model.heads = 2;
    config.steps = 3;
    return config;
}

template <class Visit>
void eachModel(Visit visit) {
    for (const Encoders encoders : {Encoders{1, 0}, {2, 0}, {3, 0}, {1, 1}, {2, 1}, {1, 2}, {1, 3}, {2, 2}}) {
        for (const int trunk : {1, 2, 3}) {
            SCOPED_TRACE(fmt::format("encoders {}+{}, trunk {}", encoders.first, encoders.second, trunk));
            visit(encoders, trunk);
        }
    }
}

TEST(EncoderRun, TrainsToTheReferencesWeights) {
    int runs = 0;
    eachModel([&](Encoders encoders, int trunk) {
        for (const int m : {1, 2, 3, 5, 8}) {
            for (const int layers : {0, 1, 2}) {
                RunConfig config = configOf(scheduleOf(encoders, trunk, m));
                config.model.cut.assign(static_cast<std::size_t>(config.schedule.pp), layers);
                config.model.cut.front() = 1;
                test::expectTheReferencesWeights(config);
                ++runs;
            }
        }
    });
    EXPECT_EQ(runs, 8 * 3 * 5 * 3);
}

TEST(EncoderRun, TrainsWithReplicasAndSharedStages) {
    RunConfig config = configOf(scheduleOf({2, 1}, 2, 4));
    config.replicas = 2;
    const RunSummary replicas = test::expectTheReferencesWeights(config);
    config.replicas = 1;
    config.tensor_ranks = 2;
    const RunSummary shared = test::expectTheReferencesWeights(config);
    EXPECT_NE(replicas.weights_digest, shared.weights_digest);
}

TEST(EncoderRun, TrainsWithSplitBackwards) {
    RunConfig config = configOf(scheduleOf({1, 2}, 2, 4));
    const RunSummary whole = test::expectTheReferencesWeights(config);
    config.schedule = test::withDelayedWeightGradients(std::move(config.schedule));
    EXPECT_EQ(test::expectTheReferencesWeights(config).weights_digest, whole.weights_digest);
}

TEST(EncoderRun, LearnsFromEveryEncoder) {
    // Without the second encoder, or with its stages in the first, the trunk gets another input.
    const auto lossesOf = [](Encoders encoders) {
        RunConfig config = configOf(scheduleOf(encoders, 1, 2));
        config.steps = 20;
        return test::trained(config).losses;
    };
    const std::vector<double> two = lossesOf({1, 1});
    EXPECT_LT(two.back(), two.front());
    EXPECT_NE(two.front(), lossesOf({1, 0}).front());
    EXPECT_NE(two.front(), lossesOf({2, 0}).front());
}

TEST(EncoderRun, PacedRunEqualsSimulationToTheNanosecond) {
    eachModel([](Encoders encoders, int trunk) {
        for (const TimeNs comm : {TimeNs{0}, TimeNs{1'500'000}}) {
            test::EngineRun run(scheduleOf(encoders, trunk, 4), test::someTimes(comm));
            for (int s = 0; s < run.schedule.pp; ++s) {
                OpTimes times = run.times.times;
                if (s < encoders.ranks()) times.forward += TimeNs{1'000'000} * (s + 1);
                run.times.stages.push_back(times);
            }
            const Result<EngineResult> result = run.run();
            ASSERT_TRUE(result.ok()) << result.error().text();
            EXPECT_EQ(result.value().late_ops, 0);
            test::expectEqualsSimulation(run);
        }
    });
}

TEST(EncoderRun, RejectsWhatItCannotDo) {
    const auto rejected = [](auto change) {
        RunConfig config = configOf(scheduleOf({1, 1}, 1, 2));
        change(config);
        return test::isRejected(config);
    };
    EXPECT_FALSE(rejected([](RunConfig&) {}));
    EXPECT_TRUE(rejected([](RunConfig& config) { config.aadiff.emplace(); }));
    EXPECT_TRUE(rejected([](RunConfig& config) { config.adapt = true; }));
    EXPECT_TRUE(rejected([](RunConfig& config) {
        config.faults.push_back(parseFault("flip:F,rank=1,layer=1,tensor=hidden,bit=9").value());
    }));
}

} // namespace
} // namespace bubblescope::runtime
