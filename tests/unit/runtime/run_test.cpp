#include "runtime/run.h"

#include "core/recognise/run.h"
#include "core/trace/trace.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/runtime/schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <thread>

namespace bubblescope::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

RunConfig configOf(Schedule schedule, bool paced = false) {
    RunConfig config;
    config.schedule = std::move(schedule);
    config.model.width = 12;
    config.model.layers_per_stage = 2;
    config.model.rows = 6;
    config.steps = 3;
    config.paced = paced;
    config.times.times.forward = 100us;
    config.times.times.backward = 200us;
    config.times.times.input_grad = 100us;
    config.times.times.weight_grad = 100us;
    return config;
}

RunSummary run(const RunConfig& config) {
    JobControl control;
    Result<RunSummary> result = runPipeline(config, control);
    EXPECT_TRUE(result.ok()) << result.error().text();
    return std::move(result).value();
}

RunSummary reference(const RunConfig& config) {
    Result<RunSummary> result = runReference(config);
    EXPECT_TRUE(result.ok()) << result.error().text();
    return std::move(result).value();
}

class RunOnSchedules : public ::testing::TestWithParam<Schedule> {};

TEST_P(RunOnSchedules, EqualsTheReferenceBitForBit) {
    for (const bool paced : {false, true}) {
        const RunConfig config = configOf(GetParam(), paced);
        const RunSummary pipeline = run(config);
        const RunSummary plain = reference(config);
        ASSERT_EQ(pipeline.losses.size(), 3U);
        EXPECT_EQ(pipeline.losses, plain.losses);
        EXPECT_EQ(pipeline.weights_digest, plain.weights_digest);
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
    const RunSummary four_ranks = run(configOf(test::scheduleOf("1f1b", 4, 4)));
    const RunSummary two_ranks = run(configOf(test::scheduleOf("interleaved", 2, 4, 2)));
    const RunSummary v_shaped = run(configOf(test::vShaped(2, 4)));
    EXPECT_EQ(four_ranks.losses, two_ranks.losses);
    EXPECT_EQ(four_ranks.weights_digest, two_ranks.weights_digest);
    EXPECT_EQ(four_ranks.losses, v_shaped.losses);
    EXPECT_EQ(four_ranks.weights_digest, v_shaped.weights_digest);
}

TEST(RunPipeline, CutOfTheSameBlocksDoesNotChangeABit) {
    RunConfig thick = configOf(test::scheduleOf("1f1b", 2, 4)); // 2 stages of 2 blocks
    RunConfig thin = configOf(test::scheduleOf("interleaved", 2, 4, 2));
    thin.model.layers_per_stage = 1;
    EXPECT_EQ(run(thick).losses, run(thin).losses);
    EXPECT_EQ(run(thick).weights_digest, run(thin).weights_digest);
}

TEST(RunPipeline, MeasuresWhatEachRankHolds) {
    // A micro-batch on one stage of two blocks: the input and the argument of each block's GELU, 12 x 6 floats each.
    constexpr std::int64_t kTensor = std::int64_t{12} * 6 * 4;
    constexpr std::int64_t kWeights = 2 * (12 * 12 + 12) * std::int64_t{4};
    const RunSummary summary = run(configOf(test::scheduleOf("1f1b", 3, 6)));
    ASSERT_EQ(summary.memory.size(), 3U);
    for (int r = 0; r < 2; ++r) {
        const MemoryUse& memory = summary.memory[Rank{r}.index()];
        EXPECT_EQ(memory.weights, kWeights);
        EXPECT_EQ(memory.gradients, kWeights) << "1F1B's backwards follow the order of the sum";
        EXPECT_EQ(memory.activations, 4 * kTensor * (3 - r)) << "p - r micro-batches";
    }
    const RunSummary two_way = run(configOf(test::scheduleOf("chimera", 2, 4)));
    EXPECT_GT(two_way.memory[0].weights, 2 * kWeights) << "two copies, and the head of one";
}

TEST(RunPipeline, SameSeedSameDigestOtherSeedOtherDigest) {
    RunConfig config = configOf(test::scheduleOf("1f1b", 3, 4));
    const std::uint64_t digest = run(config).weights_digest;
    EXPECT_EQ(run(config).weights_digest, digest);
    config.model.seed = 2;
    EXPECT_NE(run(config).weights_digest, digest);
}

TEST(RunPipeline, LossFallsEveryStep) {
    RunConfig config;
    config.schedule = test::scheduleOf("1f1b", 4, 8);
    config.paced = false;
    config.steps = 10;
    const RunSummary summary = run(config);
    ASSERT_EQ(summary.losses.size(), 10U);
    for (std::size_t i = 1; i < summary.losses.size(); ++i)
        EXPECT_LT(summary.losses[i], summary.losses[i - 1]);
    EXPECT_LT(summary.losses.back(), 0.5 * summary.losses.front());
}

TEST(RunPipeline, RecordsOneFilePerRankWithAllOps) {
    const bubblescope::test::ScratchFolder dir;
    for (const bool paced : {false, true}) {
        RunConfig config = configOf(test::scheduleOf("1f1b", 3, 4), paced);
        config.out_dir = dir.path() / "traces";
        const RunSummary summary = run(config);
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
    EXPECT_EQ(kindAfter([](RunConfig& c) { c.model.rows = -1; }), ErrorKind::Usage);
    EXPECT_EQ(kindAfter([](RunConfig& c) { c.pace_tolerance = TimeNs{-1}; }), ErrorKind::Usage);
    EXPECT_EQ(kindAfter([](RunConfig& c) { c.times.stages.resize(3); }), ErrorKind::Usage);
    EXPECT_EQ(kindAfter([](RunConfig& c) {
                  ScheduleSpec spec{"seq1f1b", "", 2, 2, 1};
                  spec.sequence_slices = c.model.rows + 1;
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

} // namespace
} // namespace bubblescope::runtime
