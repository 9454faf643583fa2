#include "runtime/run.h"

#include "core/recognise/run.h"
#include "core/trace/trace.h"
#include "tests/support/reference_run.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/runtime/schedules.h"
#include "tests/unit/runtime/trained_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <functional>
#include <thread>

namespace bubblescope::runtime {
namespace {

using namespace std::chrono_literals;
using test::expectTheReferencesWeights;
using test::trained;
using ::testing::HasSubstr;

RunConfig configOf(Schedule schedule, bool paced = false) {
    RunConfig config;
    config.schedule = std::move(schedule);
    config.model.width = 12;
    config.model.layers_per_stage = 2;
    config.model.heads = 3;
    config.model.sequence = 6;
    config.steps = 3;
    config.paced = paced;
    config.times.times.forward = 100us;
    config.times.times.backward = 200us;
    config.times.times.input_grad = 100us;
    config.times.times.weight_grad = 100us;
    return config;
}

class RunOnSchedules : public ::testing::TestWithParam<Schedule> {};

TEST_P(RunOnSchedules, EqualsTheReferenceBitForBit) {
    for (const bool paced : {false, true}) {
        const RunConfig config = configOf(GetParam(), paced);
        EXPECT_EQ(expectTheReferencesWeights(config).losses.size(), 3U);
    }
}

INSTANTIATE_TEST_SUITE_P(All, RunOnSchedules,
                         ::testing::Values(test::scheduleOf("fthenb", 1, 1), test::scheduleOf("fthenb", 3, 5),
                                           test::scheduleOf("fthenb", 4, 2), test::scheduleOf("1f1b", 2, 1),
                                           test::scheduleOf("1f1b", 4, 8), test::scheduleOf("1f1b", 3, 7),
                                           test::scheduleOf("interleaved", 2, 4, 2),
                                           test::scheduleOf("interleaved", 4, 8, 2),
                                           test::scheduleOf("interleaved", 3, 6, 3), test::vShaped(1, 3),
                                           test::vShaped(3, 4),
                                           test::withDelayedWeightGradients(test::scheduleOf("1f1b", 4, 6)),
                                           test::withDelayedWeightGradients(test::scheduleOf("interleaved", 2, 4, 2)),
                                           test::withDelayedWeightGradients(test::vShaped(2, 3))),
                         [](const auto& param_info) { return "order" + std::to_string(param_info.index); });

TEST(RunPipeline, CutOfTheSameStagesDoesNotChangeABit) {
    const RunSummary four_ranks = trained(configOf(test::scheduleOf("1f1b", 4, 4)));
    const RunSummary two_ranks = trained(configOf(test::scheduleOf("interleaved", 2, 4, 2)));
    const RunSummary v_shaped = trained(configOf(test::vShaped(2, 4)));
    EXPECT_EQ(four_ranks.losses, two_ranks.losses);
    EXPECT_EQ(four_ranks.weights_digest, two_ranks.weights_digest);
    EXPECT_EQ(four_ranks.losses, v_shaped.losses);
    EXPECT_EQ(four_ranks.weights_digest, v_shaped.weights_digest);
}

TEST(RunPipeline, ReplicasTrainTheReferencesWeightsBitForBit) {
    for (const auto& schedule : {test::scheduleOf("1f1b", 2, 4), test::scheduleOf("interleaved", 2, 4, 2),
                                 test::scheduleOf("dualpipe", 2, 4)}) {
        for (const int replicas : {2, 3}) {
            RunConfig config = configOf(schedule);
            config.replicas = replicas;
            SCOPED_TRACE(schedule.name + " x " + std::to_string(replicas));
            EXPECT_EQ(expectTheReferencesWeights(config).memory.size(), static_cast<std::size_t>(2 * replicas));
        }
    }
    // Two replicas of four micro-batches train on the data of one with eight, in another grouping.
    RunConfig twice = configOf(test::scheduleOf("1f1b", 2, 4));
    twice.replicas = 2;
    const std::vector<double> one = trained(configOf(test::scheduleOf("1f1b", 2, 8))).losses;
    const std::vector<double> two = trained(twice).losses;
    for (std::size_t step = 0; step < one.size(); ++step)
        EXPECT_NEAR(two[step], one[step], 1e-5 * one[step]);
}

TEST(RunPipeline, ReplicasAreToldApartInTheTrace) {
    const bubblescope::test::ScratchFolder dir;
    RunConfig config = configOf(test::scheduleOf("1f1b", 3, 4));
    config.replicas = 2;
    config.out_dir = dir.path();
    EXPECT_EQ(trained(config).files.size(), 6U);
    JobControl control;
    const Result<bubblescope::Run> loaded = loadRun({dir.path()}, control);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    EXPECT_TRUE(loaded.value().problems.empty()) << loaded.value().problems.front().message.text();
    EXPECT_EQ(loaded.value().schedule.pp, 3);
    EXPECT_EQ(loaded.value().schedule.name, "1f1b");
    EXPECT_EQ(loaded.value().info.value().dp, 2);
    ASSERT_EQ(loaded.value().steps.size(), 6U) << "three of each replica";
    int of_second = 0;
    for (const StepTimeline& step : loaded.value().steps)
        of_second += step.replica == 1 ? 1 : 0;
    EXPECT_EQ(of_second, 3);
}

TEST(RunPipeline, CutOfTheSameBlocksDoesNotChangeABit) {
    RunConfig thick = configOf(test::scheduleOf("1f1b", 2, 4)); // 2 stages of 2 blocks
    RunConfig thin = configOf(test::scheduleOf("interleaved", 2, 4, 2));
    thin.model.layers_per_stage = 1;
    EXPECT_EQ(trained(thick).losses, trained(thin).losses);
    EXPECT_EQ(trained(thick).weights_digest, trained(thin).weights_digest);
}

TEST(RunPipeline, MeasuresWhatEachRankHolds) {
    // A block has two normalisations, and matrices of 3, 1, 4 and 4 times the width's square.
    constexpr std::int64_t kBlock = (2 * 2 * 12 + 12 * 12 * 12 + (3 + 1 + 4 + 1) * 12) * std::int64_t{4};
    // The data that a forward keeps for 6 tokens: both normalised inputs with a deviation each, queries, keys and
    // values, three
    // heads' weights, what they attended to, the MLP's hidden row.
    constexpr std::int64_t kKept = (6 * (12 + 1 + 12 + 1 + 3 * 12 + 3 * 6 + 12 + 4 * 12)) * std::int64_t{4};
    constexpr int kBlocks = 2;
    const RunSummary summary = trained(configOf(test::scheduleOf("1f1b", 3, 6)));
    ASSERT_EQ(summary.memory.size(), 3U);
    const MemoryUse& middle = summary.memory[1];
    EXPECT_EQ(middle.weights, kBlocks * kBlock);
    EXPECT_EQ(middle.gradients, kBlocks * kBlock) << "1F1B's backwards follow the order of the sum";
    EXPECT_EQ(middle.optimizer, 2 * kBlocks * kBlock) << "two moments";
    EXPECT_EQ(middle.activations, 2 * kBlocks * kKept) << "p - r micro-batches";
    EXPECT_EQ(summary.memory[0].activations, 3 * kBlocks * kKept);
    const RunSummary two_way = trained(configOf(test::scheduleOf("chimera", 2, 4)));
    EXPECT_GT(two_way.memory[0].weights, 2 * kBlocks * kBlock) << "two copies, the embeddings and the head";
}

TEST(RunPipeline, SameSeedSameDigestOtherSeedOtherDigest) {
    RunConfig config = configOf(test::scheduleOf("1f1b", 3, 4));
    const std::uint64_t digest = trained(config).weights_digest;
    EXPECT_EQ(trained(config).weights_digest, digest);
    config.model.seed = 2;
    EXPECT_NE(trained(config).weights_digest, digest);
}

TEST(RunPipeline, LearnsTheDemoText) {
    RunConfig config;
    config.schedule = test::scheduleOf("1f1b", 2, 8);
    config.paced = false;
    config.steps = 60;
    config.model.optimizer.learning_rate = 0.01F;
    const RunSummary summary = trained(config);
    ASSERT_EQ(summary.losses.size(), 60U);
    // Without any knowledge of 256 bytes the loss is ln 256 = 5.55; with the frequency of each letter, about 2.9.
    EXPECT_NEAR(summary.losses.front(), std::log(256.0), 0.1);
    EXPECT_LT(summary.losses.back(), 2.9);
}

TEST(RunPipeline, AnUnevenCutOfTheLayersDoesNotChangeABit) {
    RunConfig even = configOf(test::scheduleOf("1f1b", 3, 4));
    RunConfig uneven = even;
    uneven.model.cut = {3, 0, 3};
    EXPECT_EQ(trained(even).losses, trained(uneven).losses);
    EXPECT_EQ(trained(even).weights_digest, trained(uneven).weights_digest);
    uneven.model.cut = {3, 3};
    JobControl control;
    EXPECT_EQ(runPipeline(uneven, control).error().kind, ErrorKind::Usage);
}

TEST(RunPipeline, RecordsOneFilePerRankWithAllOps) {
    const bubblescope::test::ScratchFolder dir;
    for (const bool paced : {false, true}) {
        RunConfig config = configOf(test::scheduleOf("1f1b", 3, 4), paced);
        config.out_dir = dir.path() / "traces";
        const RunSummary summary = trained(config);
        EXPECT_EQ(summary.ops, 3 * (3 * 8 + 3));
        EXPECT_EQ(summary.dropped_records, 0);
        ASSERT_EQ(summary.files.size(), 3U);
        EXPECT_EQ(summary.files[2], config.out_dir / "rank2.pftrace");

        JobControl control;
        const Result<bubblescope::Run> loaded = loadRun({config.out_dir}, control);
        ASSERT_TRUE(loaded.ok()) << loaded.error().text();
        EXPECT_TRUE(loaded.value().problems.empty());
        EXPECT_EQ(loaded.value().steps.size(), 3U);
        ASSERT_TRUE(loaded.value().info);
        EXPECT_EQ(loaded.value().info->backend, "cpu");
        EXPECT_EQ(loaded.value().info->paced, paced);
        EXPECT_EQ(loaded.value().info->pace_tolerance, paced ? config.pace_tolerance : 0ns);
        EXPECT_EQ(loaded.value().schedule.name, "1f1b");
        const Trace& trace = *loaded.value().trace;
        std::int64_t ops = 0, sends = 0, receives = 0;
        for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
            ops += trace.category(slice) == "op" ? 1 : 0;
            sends += trace.category(slice) == "send" ? 1 : 0;
            receives += trace.category(slice) == "receive" ? 1 : 0;
        }
        EXPECT_EQ(ops, summary.ops);
        EXPECT_EQ(sends, 3 * 2 * 4 * 2) << "steps x borders x micro-batches x directions";
        EXPECT_EQ(receives, sends);
    }
}

TEST(RunPipeline, LeavesAReadableTraceWhenItIsCancelledInTheMiddle) {
    const bubblescope::test::ScratchFolder dir;
    RunConfig config = configOf(test::scheduleOf("1f1b", 2, 4));
    config.steps = 1'000'000;
    config.out_dir = dir.path();
    std::stop_source source;
    JobControl control;
    control.stop = source.get_token();
    std::thread watcher([&] {
        while (control.done.load() < 200)
            std::this_thread::yield();
        source.request_stop();
    });
    const Result<RunSummary> result = runPipeline(config, control);
    watcher.join();
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().kind, ErrorKind::Cancelled);

    JobControl load_control;
    const Result<bubblescope::Run> loaded = loadRun({dir.path()}, load_control);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    EXPECT_GE(loaded.value().steps.size(), 9U) << "200 ops are 11 steps of 18";
}

TEST(RunPipeline, RefusesAnInvalidSchedule) {
    RunConfig config = configOf(test::scheduleOf("1f1b", 2, 4));
    config.schedule.ranks[1].pop_back();
    JobControl control;
    const Result<RunSummary> result = runPipeline(config, control);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().kind, ErrorKind::Input);
    EXPECT_THAT(result.error().message, HasSubstr("rank 1 never runs B3.0"));
    EXPECT_EQ(runReference(config).error().kind, ErrorKind::Input);
}

TEST(RunPipeline, RefusesNumbersThatMakeNoRun) {
    const auto kindAfter = [](const std::function<void(RunConfig&)>& spoil) {
        RunConfig config = configOf(test::scheduleOf("1f1b", 2, 2));
        spoil(config);
        JobControl control;
        const Result<RunSummary> result = runPipeline(config, control);
        EXPECT_FALSE(result.ok());
        return result.ok() ? ErrorKind::Cancelled : result.error().kind;
    };
    EXPECT_EQ(kindAfter([](RunConfig& c) { c.steps = 0; }), ErrorKind::Usage);
    EXPECT_EQ(kindAfter([](RunConfig& c) { c.model.width = 0; }), ErrorKind::Usage);
    EXPECT_EQ(kindAfter([](RunConfig& c) { c.model.sequence = -1; }), ErrorKind::Usage);
    EXPECT_EQ(kindAfter([](RunConfig& c) { c.pace_tolerance = TimeNs{-1}; }), ErrorKind::Usage);
    EXPECT_EQ(kindAfter([](RunConfig& c) { c.times.stages.resize(3); }), ErrorKind::Usage);
    EXPECT_EQ(kindAfter([](RunConfig& c) {
                  ScheduleSpec spec{"seq1f1b", "", 2, 2, 1};
                  spec.sequence_slices = c.model.sequence + 1;
                  c.schedule = makeSchedule(spec).value();
              }),
              ErrorKind::Usage);
}

TEST(RunPipeline, IsCancelledByItsControl) {
    RunConfig config = configOf(test::scheduleOf("1f1b", 2, 2));
    const bubblescope::test::ScratchFolder dir;
    config.out_dir = dir.path();
    std::stop_source source;
    source.request_stop();
    JobControl control;
    control.stop = source.get_token();
    const Result<RunSummary> result = runPipeline(config, control);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().kind, ErrorKind::Cancelled);
}

TEST(RunPipeline, NamesTheTraceFolderItCannotUse) {
    const bubblescope::test::ScratchFolder dir;
    std::ofstream(dir.path() / "file") << "in the way";
    RunConfig config = configOf(test::scheduleOf("1f1b", 2, 2));
    config.out_dir = dir.path() / "file";
    JobControl control;
    const Result<RunSummary> result = runPipeline(config, control);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().kind, ErrorKind::Run);
    EXPECT_EQ(result.error().where, config.out_dir.string());
}

TEST(Run, EndsWithOneStepForAllRanksWhenAsked) {
    RunConfig config = configOf(test::scheduleOf("1f1b", 4, 8));
    config.steps = 100'000;
    std::stop_source ask;
    config.end_early = ask.get_token();
    JobControl control;
    std::atomic<int> checks{0};
    constexpr int kAmongSteps = 4 * 17 * 2; // ranks look before every op: somewhere in the first steps
    control.at_check = [&] {
        if (++checks == kAmongSteps) ask.request_stop();
    };
    const Result<RunSummary> ended = runPipeline(config, control);
    ASSERT_TRUE(ended.ok()) << ended.error().text();
    const std::size_t steps = ended.value().losses.size();
    EXPECT_GE(steps, 1U);
    EXPECT_LE(steps, 4U);
    config.steps = static_cast<int>(steps);
    const RunSummary whole = runReference(config).value();
    EXPECT_EQ(ended.value().losses, whole.losses);
    EXPECT_EQ(ended.value().weights_digest, whole.weights_digest) << "the last step is whole on all ranks";
}

} // namespace
} // namespace bubblescope::runtime
