// The memory of ranks as counters recorded it, and what a held forward keeps.

#include "core/analysis/devices/memory_curve.h"
#include "core/analysis/memory_use.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/base/reserved_memory.h"
#include "core/cost/memory_model.h"
#include "core/recognise/run.h"
#include "core/report/results/memory_use.h"
#include "core/report/text.h"
#include "core/trace/trace_builder.h"
#include "profiler/capture/capture_writer.h"
#include "tests/support/recorded_job.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/shared_data.h"
#include "tests/unit/analysis/simulated_run.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

using namespace test;

constexpr double kGiB = 1 << 30;
constexpr double kFixed = 10 * kGiB;
constexpr double kPerForward = 2 * kGiB;

/// Calls `set` with the bytes of a rank whenever they change: a forward takes memory, its backward releases it. The
/// first step, a warm-up, takes as much again.
void follow(const bubblescope::Run& run, std::size_t rank, const std::function<void(TimeNs, double)>& set) {
    for (const StepTimeline& step : run.steps) {
        double bytes = step.index == 0 ? 2 * kFixed : kFixed;
        set(step.begin, bytes);
        for (const TimelineOp& op : step.ranks[rank]) {
            if (op.op.kind == OpKind::Forward) set(op.start, bytes += kPerForward);
            if (op.op.kind == OpKind::Backward) set(op.end, bytes -= kPerForward);
        }
    }
}

/// `add` writes a rank's memory into its file.
MemoryUse useOf(const std::function<void(TraceBuilder&, TrackId, std::size_t rank, const bubblescope::Run&)>& add) {
    bubblescope::Run run = makeRunOf(k1F1B, 4, [](int) { return [](Rank, const Op&) { return 1.0; }; });
    TimeNs begin{0};
    for (StepTimeline& step : run.steps) {
        shift(step, begin - step.begin);
        begin = step.end + kForward;
    }
    TraceBuilder builder;
    for (int r = 0; r < run.schedule.pp; ++r) {
        builder.addFile({"rank" + std::to_string(r), "kineto", r, "host"});
        const TrackId track = builder.addTrack(r, 1);
        for (const StepTimeline& step : run.steps) {
            for (const TimelineOp& op : step.ranks[Rank{r}.index()])
                builder.addSlice({track, op.start, op.duration(), builder.intern(opName(op.op)), 0, 0});
        }
        add(builder, track, Rank{r}.index(), run);
    }
    DiagnosticLog log;
    run.trace = builder.finish(log);
    DiagnosisOptions options;
    options.request.steps = {{1, 3, {}}};
    const auto diagnosed = diagnoseRun(std::move(run), options);
    EXPECT_TRUE(diagnosed.ok()) << diagnosed.error().text();
    return diagnosed.value().report.memory;
}

void expectStraightLine(const MemoryUse& use) {
    ASSERT_EQ(use.ranks.size(), 4U);
    for (std::size_t r = 0; r < use.ranks.size(); ++r) {
        const int held = 4 - static_cast<int>(r); // 1F1B: p - s micro-batches
        EXPECT_EQ(use.ranks[r].held, held);
        ASSERT_TRUE(use.ranks[r].at.has_value());
        EXPECT_EQ(opName(*use.ranks[r].at), "F" + std::to_string(held - 1) + ".0") << "the last forward of the warm-up";
        EXPECT_DOUBLE_EQ(use.ranks[r].peak, kFixed + held * kPerForward);
        EXPECT_DOUBLE_EQ(use.ranks[r].highest, 2 * kFixed + held * kPerForward) << "in the first step";
    }
    ASSERT_TRUE(use.line.has_value());
    EXPECT_NEAR(use.line->per_forward, kPerForward, 1);
    EXPECT_NEAR(use.line->fixed, kFixed, 1);
    EXPECT_NEAR(use.line->worst, 0, 1e-9);
}

TEST(MemoryOfRanks, FollowsCounters) {
    expectStraightLine(useOf([](TraceBuilder& builder, TrackId, std::size_t rank, const bubblescope::Run& run) {
        follow(run, rank, [&](TimeNs time, double bytes) {
            builder.addCounter(static_cast<std::int64_t>(rank), builder.intern("device memory"), time, bytes);
            builder.addCounter(static_cast<std::int64_t>(rank), builder.intern("tokens"), time, 1e15);
        });
    }));
}

TEST(MemoryOfRanks, FollowsMemoryEventsOfPyTorchOnDevices) {
    expectStraightLine(useOf([](TraceBuilder& builder, TrackId track, std::size_t rank, const bubblescope::Run& run) {
        const StringId name = builder.intern("[memory]");
        const auto event = [&](TimeNs time, double bytes, int device_type) {
            std::vector<StoredArg> args(3);
            args[0].name = builder.intern("Device Type");
            args[0].setInt(device_type);
            args[1].name = builder.intern("Device Id");
            args[1].setInt(0);
            args[2].name = builder.intern("Total Allocated");
            args[2].setInt(static_cast<std::int64_t>(bytes));
            builder.addInstant({track, time, name, 0, builder.args().add(args)});
        };
        follow(run, rank, [&](TimeNs time, double bytes) {
            event(time, bytes, 1);
            event(time, 1e15, 0); // of the host
        });
    }));
}

TEST(MemoryOfRanks, UsesReservedMemoryOnlyWithoutBetterCounters) {
    for (const bool is_known : {false, true}) {
        const MemoryUse use = useOf([&](TraceBuilder& builder, TrackId, std::size_t rank, const bubblescope::Run& run) {
            const auto pid = static_cast<std::int64_t>(rank);
            follow(run, rank, [&](TimeNs time, double bytes) {
                builder.addCounter(pid, builder.intern(reservedMemoryName(0)), time, is_known ? 9 * bytes : bytes);
                if (is_known) builder.addCounter(pid, builder.intern("allocated memory"), time, bytes);
            });
        });
        expectStraightLine(use);
        for (const RankMemoryUse& rank : use.ranks)
            EXPECT_EQ(rank.reserved, !is_known);
        for (const auto& peak : use.peaks)
            EXPECT_EQ(peak.has_value(), is_known) << "estimates are not of reserved memory";
        const std::string text = report::toText([&] {
            report::Document document;
            document.add(report::memoryUseSection(use, report::Reader::Text));
            return document;
        }());
        EXPECT_EQ(text.find("memory reserved from CUDA") != std::string::npos, !is_known);
    }
}

/// From CUPTI's records in the recording library to the name of the op at the peak.
TEST(MemoryOfRanks, FollowsAllocationsOfARecordedJob) {
    constexpr std::int64_t kUnitBytes = 1 << 20;
    const test::ScratchFolder scratch;
    test::RecordedJob job(scratch.path());
    const auto change = [&](int rank, profiler::cupti::Activity::Kind kind, int units, int of, std::int64_t bytes) {
        profiler::cupti::Activity activity;
        activity.kind = kind;
        activity.start = units * test::RecordedJob::kUnit + test::RecordedJob::kUnit / 2;
        activity.id = static_cast<std::uint64_t>(of);
        activity.bytes = bytes * kUnitBytes;
        activity.what = 3; // device memory
        std::vector<profiler::cupti::OwnedActivity> one{{activity, ""}};
        job.writer(rank).take(one);
    };
    using enum profiler::cupti::Activity::Kind;
    constexpr int kSteps = 4;
    for (int rank = 0; rank < test::RecordedJob::kRanks; ++rank) {
        for (int step = 0; step < kSteps; ++step) {
            const int begin = step * test::RecordedJob::kStep;
            if (step == 0) change(rank, Allocation, begin, 1, 10);
            // In F1 of rank 0, and in the B0 of rank 1.
            change(rank, Allocation, begin + (rank == 0 ? 1 : 2), 2, 5 - rank);
            change(rank, Release, begin + (rank == 0 ? 5 : 3), 2, 5 - rank);
            job.write(rank, step);
        }
        job.end(rank, kSteps);
    }
    JobControl control;
    auto run = loadRun({scratch.path()}, control);
    ASSERT_TRUE(run.ok()) << run.error().text();
    const auto diagnosed = diagnoseRun(std::move(run).value(), {});
    ASSERT_TRUE(diagnosed.ok()) << diagnosed.error().text();
    const std::vector<RankMemoryUse>& ranks = diagnosed.value().report.memory.ranks;
    ASSERT_EQ(ranks.size(), 2U);
    for (std::size_t r = 0; r < 2; ++r) {
        EXPECT_EQ(ranks[r].peak, static_cast<double>((r == 0 ? 15 : 14) * kUnitBytes));
        EXPECT_TRUE(ranks[r].reserved);
        ASSERT_TRUE(ranks[r].at.has_value());
        EXPECT_EQ(opName(*ranks[r].at), r == 0 ? "F1.0" : "B0.0");
        EXPECT_FALSE(ranks[r].before);
    }
}

TEST(MemoryOfRanks, IsUnknownWithoutCounters) {
    const MemoryUse use = useOf([](TraceBuilder&, TrackId, std::size_t, const bubblescope::Run&) {});
    EXPECT_TRUE(use.ranks.empty());
    EXPECT_FALSE(use.line.has_value());
}

TEST(MemoryCurves, KeepTheirPeaksWhenThinned) {
    TraceBuilder builder;
    builder.addFile({"rank0", "kineto", 0, "host"});
    const StringId name = builder.intern("Memory allocated");
    constexpr int kPoints = 100'000;
    for (int i = 0; i < kPoints; ++i)
        builder.addCounter(1, name, TimeNs{i * 1000}, i == 54'321 ? 9e9 : 1e9);
    DiagnosticLog log;
    RawTrace raw(builder.finish(log));
    const auto curves = extractMemoryCurves(raw);
    ASSERT_TRUE(curves.ok());
    const MemoryCurve& curve = curves.value().at(0);
    EXPECT_LE(curve.points.size(), 4096U);
    EXPECT_GT(curve.points.size(), 4000U);
    EXPECT_EQ(curve.peak(), 9e9);
    EXPECT_EQ(curve.peakIn(TimeNs{54'000'000}, TimeNs{55'000'000}).value().bytes, 9e9);
    EXPECT_EQ(curve.peakIn(TimeNs{55'000'000}, TimeNs{56'000'000}).value().bytes, 1e9);
    EXPECT_FALSE(curve.peakIn(TimeNs{-10}, TimeNs{-5}).has_value()) << "before the recording";
}

/// The interior stages of Primus' run are equal; the ends also hold the embedding and the head, of Llama 2's size.
TEST(MemoryOfRanksOutside, FollowsFromTwoPeaksOfPrimus) {
    BUBBLESCOPE_NEED_TRACES("primus");
    JobControl control;
    auto run = loadRun({test::realTrace("primus/pp8")}, control);
    ASSERT_TRUE(run.ok()) << run.error().text();
    const Schedule order = run.value().schedule;
    DiagnosisOptions options;
    options.request.steps = {{2, 20, {}}};
    const auto diagnosed = diagnoseRun(std::move(run).value(), options);
    ASSERT_TRUE(diagnosed.ok()) << diagnosed.error().text();
    const std::vector<RankMemoryUse>& ranks = diagnosed.value().report.memory.ranks;
    ASSERT_EQ(ranks.size(), 8U);

    MemoryModel model;
    model.stages.resize(8);
    for (StageMemory& stage : model.stages)
        stage.activations = {2 << 20, 1 << 20, 1 << 20};
    constexpr std::int64_t kTable = std::int64_t{32000} * 4096;
    constexpr std::int64_t kBytesPerParameter = 2 + 4 + 12; // Megatron's: weights, gradients, Adam
    model.stages.front().weights = model.stages.back().weights = kTable * kBytesPerParameter;
    const auto peakOf = [&](std::size_t r) { return static_cast<std::int64_t>(ranks[r].peak); };
    const auto fitted = fittedTo({{Rank{1}, peakOf(1)}, {Rank{6}, peakOf(6)}}, order, model);
    ASSERT_TRUE(fitted.ok()) << fitted.error().text();
    const std::vector<RankMemory> predicted = memoryUse(order, fitted.value());
    for (std::size_t r = 0; r < ranks.size(); ++r)
        EXPECT_NEAR(static_cast<double>(predicted[r].peak()) / ranks[r].peak, 1, 0.02) << "rank " << r;
    EXPECT_EQ(heldDuring(order, fitted.value(), Rank{0}, predicted[0].peak_op)[0].count, 8);
    // One number is not enough, and neither are two ranks that hold the same.
    EXPECT_FALSE(fittedTo({{Rank{1}, peakOf(1)}}, order, model).ok());
}

} // namespace
} // namespace bubblescope
