// Whole runs with several ranks on one device: every order of the registry trains to the bits of the run without a
// pipeline, in whatever order the device executes the queued work.

#include "runtime/backend/backend.h"
#include "runtime/run.h"
#include "tests/gpu/flavors.h"
#include "tests/gpu/test_device.h"
#include "tests/support/reference_run.h"

#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

RunConfig configOf(Schedule schedule, Storage storage, bool batches = false) {
    RunConfig config;
    config.schedule = std::move(schedule);
    config.model = tinyModel();
    config.steps = 2;
    config.paced = false;
    config.backend =
        std::make_shared<Backend>("test", testDevice(batches), storage, std::make_shared<MonotonicClock>());
    return config;
}

void expectTheReferencesBits(const RunConfig& config) {
    const Result<RunSummary> reference = runReference(config);
    ASSERT_TRUE(reference.ok()) << reference.error().text();
    JobControl control;
    const Result<RunSummary> run = runPipeline(config, control);
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run.value().losses, reference.value().losses);
    EXPECT_EQ(run.value().weights_digest, reference.value().weights_digest);
    EXPECT_NEAR(run.value().losses.front(), 5.55, 0.2) << "log 256, before it has learned anything";
}

class Pipelines : public testing::TestWithParam<Flavor> {};

TEST_P(Pipelines, TrainToTheBitsOfTheReference) {
    bool any = false;
    for (const int slices : {1, 2}) {
        const std::optional<Schedule> schedule = orderOf(GetParam(), slices);
        if (!schedule) continue;
        any = true;
        for (const Storage storage : {Storage::Float, Storage::Bf16})
            expectTheReferencesBits(configOf(*schedule, storage));
    }
    EXPECT_TRUE(any);
}

INSTANTIATE_TEST_SUITE_P(Registry, Pipelines, testing::ValuesIn(allFlavors()), nameOfFlavor);

/// Micro-batches take turns: kept, offloaded and recomputed.
TEST(ActivationMoves, TrainToTheBitsOfTheReference) {
    for (const char* const family : {"1f1b", "interleaved", "zb-h1"}) {
        for (const Storage storage : {Storage::Float, Storage::Bf16}) {
            RunConfig config = configOf(*orderOf({family, ""}, 1), storage);
            config.actions = withoutActions(config.schedule).actions;
            for (std::size_t r = 0; r < config.actions.size(); ++r) {
                std::vector<Action> all;
                for (const Action& compute : config.actions[r]) {
                    const Op& op = config.schedule.ranks[r][static_cast<std::size_t>(compute.op)];
                    const auto add = [&](ActionKind kind) {
                        all.push_back(compute);
                        all.back().kind = kind;
                        all.back().op = -1;
                    };
                    const int turn = op.microbatch.value % 3;
                    if (producesInputGradient(op.kind) && turn == 1) add(ActionKind::Reload);
                    if (producesInputGradient(op.kind) && turn == 2) add(ActionKind::Recompute);
                    all.push_back(compute);
                    if (op.kind == OpKind::Forward && turn == 1) add(ActionKind::Offload);
                }
                config.actions[r] = std::move(all);
            }
            SCOPED_TRACE(family);
            expectTheReferencesBits(config);
        }
    }
}

TEST(Replicas, TrainToTheBitsOfTheReference) {
    RunConfig config = configOf(*orderOf({"1f1b", ""}, 1), Storage::Bf16);
    config.replicas = 2;
    expectTheReferencesBits(config);
}

TEST(Dispatch, TrainsToTheBitsOfTheReference) {
    for (const char* const family : {"1f1b", "interleaved", "zb-h1", "dualpipe"}) {
        for (const bool paced : {false, true}) {
            RunConfig config = configOf(*orderOf({family, ""}, 1), Storage::Bf16);
            config.dispatch.rule = DispatchRule::Ready;
            config.paced = paced;
            if (paced) {
                config.times.times = makeOpTimes(TimeNs{300'000}, {}, TimeNs{300'000}, TimeNs{300'000}).value();
                config.times.comm = TimeNs{100'000};
            }
            SCOPED_TRACE(family);
            expectTheReferencesBits(config);
        }
    }
}

TEST(Dispatch, TrainsToTheBitsOfTheReferenceWhileTheOrderChanges) {
    RunConfig config = configOf(*orderOf({"1f1b", ""}, 1), Storage::Bf16);
    config.steps = 6;
    config.paced = true;
    config.times.times = makeOpTimes(TimeNs{300'000}, TimeNs{600'000}, {}, {}).value();
    config.faults = {parseFault("slow:rank=1,factor=2").value()};
    config.adapt = true;
    config.adapt_waits = true;
    expectTheReferencesBits(config);
}

TEST(TensorParallel, TrainsToTheBitsOfTheReference) {
    for (const char* const family : {"1f1b", "interleaved", "zb-h1", "dualpipe"}) {
        for (const bool batches : {false, true}) {
            RunConfig config = configOf(*orderOf({family, ""}, 1), batches ? Storage::Bf16 : Storage::Float, batches);
            config.model.heads = 2;
            config.tensor_ranks = 2;
            config.replicas = batches ? 2 : 1;
            SCOPED_TRACE(family);
            expectTheReferencesBits(config);
        }
    }
}

TEST(TensorParallel, ComputesWhatWholeStagesDo) {
    RunConfig config = configOf(*orderOf({"1f1b", ""}, 1), Storage::Float);
    config.model.heads = 4;
    config.model.width = 16;
    const Result<RunSummary> whole = runReference(config);
    ASSERT_TRUE(whole.ok()) << whole.error().text();
    for (const int sharers : {2, 4}) {
        config.tensor_ranks = sharers;
        const Result<RunSummary> shared = runReference(config);
        ASSERT_TRUE(shared.ok()) << shared.error().text();
        for (std::size_t step = 0; step < whole.value().losses.size(); ++step)
            EXPECT_NEAR(shared.value().losses[step], whole.value().losses[step], 1e-4) << sharers;
    }
}

TEST(Batches, TrainToTheBitsOfTheReference) {
    for (const char* const family : {"1f1b", "interleaved", "zb-h1", "dualpipe"}) {
        RunConfig config = configOf(*orderOf({family, ""}, 1), Storage::Bf16, true);
        config.steps = 4; // those of later steps are what the first ones made, with other data
        SCOPED_TRACE(family);
        expectTheReferencesBits(config);
    }
}

TEST(Backends, TellTheirErrorsAsTheRuns) {
    RunConfig config = configOf(*orderOf({"1f1b", ""}, 1), Storage::Float);
    config.model.width = 0;
    JobControl control;
    EXPECT_FALSE(runPipeline(config, control).ok());
}

} // namespace
} // namespace bubblescope::runtime::test
