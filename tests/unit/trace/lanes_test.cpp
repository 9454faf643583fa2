#include "core/trace/lanes.h"
#include "core/trace/processes.h"
#include "core/trace/trace_builder.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {
namespace {

/// The lane of a slice on a track with these names.
struct LaneOf {
    LaneKind kind;
    std::string device;
};

LaneOf laneOf(std::string_view process, std::string_view thread, std::string_view category,
              const TraceRules& rules = {}, std::string_view name = "work") {
    TraceBuilder builder;
    builder.addFile({"trace.json", "chrome", std::nullopt});
    const TrackId track = builder.addTrack(1, 2);
    builder.track(track).process_name = builder.intern(process);
    builder.track(track).thread_name = builder.intern(thread);
    builder.addSlice({track, TimeNs{0}, TimeNs{10}, builder.intern(name), builder.intern(category), 0});
    builder.setRules(rules);
    DiagnosticLog log;
    const auto trace = builder.finish(log);
    return {trace->laneOf(0, 0), std::string(trace->lanes().deviceOf(0))};
}

struct NamedLane {
    std::string_view process;
    std::string_view thread;
    std::string_view category;
    LaneKind kind;
    std::string_view device;
};

TEST(Lanes, AreKnownByCategoryProcessAndThread) {
    using enum LaneKind;
    for (const NamedLane& lane : {
             NamedLane{"python", "stream 7", "kernel", Device, ""},
             {"python", "stream 7", "gpu_memcpy", Copy, ""},
             {"python", "stream 7", "gpu_user_annotation", Annotation, ""},
             {"python", "thread 1", "cpu_op", Host, ""},
             {"python", "thread 1", "", Host, ""},
             {"python", "0", "mtia_ccp_events", Device, ""},
             {"python", "0", "hpu_op", Device, ""},
             {"GPU", "0", "gpu_render_stage", Device, ""},
             {"", "", "GPU", Communication, ""},
             {"Ascend Hardware", "Stream 3", "", Device, "NPU"},
             {"/device:TPU:1", "Async XLA Ops", "", Copy, "TPU 1"},
             {"GPU 3", "queue", "", Device, "GPU 3"},
             {"Communication", "Group pp_group Communication", "", Communication, "NPU"},
             {"Communication", "Plane 0", "", Annotation, ""},
             {"Overlap Analysis", "Computing", "", Annotation, ""},
             {"Overlap Analysis", "Free", "", Idle, ""},
             {"CANN", "Thread 12", "", Host, ""},
             {"", "COMPUTE AGENT [4] QUEUE [1] (GPU)", "kernel_dispatch", Device, "agent 4"},
             {"", "COPY to AGENT [5] THREAD [0] (MEMCPY)", "memory_copy", Copy, "agent 5"},
             {"python3", "", "hip_api", Host, ""},
             {"/device:GPU:1 NVIDIA A100", "Stream #14(compute)", "", Device, "GPU 1"},
             {"/device:GPU:1 NVIDIA A100", "XLA Modules", "", Annotation, ""},
             {"/device:TPU:0", "XLA Ops", "", Device, "TPU 0"},
             {"/device:TPU:0", "Steps", "", Annotation, ""},
             {"/host:CPU", "python", "", Host, ""},
             {"GPU0", "1", "", Device, "GPU 0"},
         }) {
        const LaneOf found = laneOf(lane.process, lane.thread, lane.category);
        EXPECT_EQ(laneKindName(found.kind), laneKindName(lane.kind)) << lane.process << " / " << lane.thread;
        EXPECT_EQ(found.device, lane.device) << lane.process << " / " << lane.thread;
    }
}

TEST(Lanes, FollowTheUsersRulesFirst) {
    TraceRules rules;
    rules.lanes.push_back({"", "Accelerator #", "queue *", LaneKind::Device, "", "XPU"});
    EXPECT_EQ(laneOf("Accelerator 3", "queue a", "", rules).kind, LaneKind::Device);
    EXPECT_EQ(laneOf("Accelerator 3", "queue a", "", rules).device, "XPU 3");
    EXPECT_EQ(laneOf("Accelerator 3", "host", "", rules).kind, LaneKind::Host);
    rules.lanes.push_back({"kernel", "", "", LaneKind::Annotation});
    EXPECT_EQ(laneOf("python", "stream 7", "kernel", rules).kind, LaneKind::Annotation);
}

TEST(Lanes, TellKernelsApartByNameWhereARuleSaysSo) {
    TraceRules rules;
    LaneRule ours;
    ours.name = "ring_exchange*";
    ours.kind = LaneKind::Communication;
    rules.lanes.push_back(ours);
    EXPECT_EQ(laneOf("python", "stream 7", "kernel", rules, "ring_exchange<4>").kind, LaneKind::Communication);
    EXPECT_EQ(laneOf("python", "stream 7", "kernel", rules, "gemm").kind, LaneKind::Device);
    EXPECT_EQ(laneOf("python", "thread", "cpu_op", rules, "ring_exchange<4>").kind, LaneKind::Host);
}

TEST(Lanes, NamesOfKindsCanBeReadBack) {
    for (std::size_t i = 0; i < kLaneKinds; ++i) {
        const auto kind = static_cast<LaneKind>(i);
        EXPECT_EQ(laneKindFrom(laneKindName(kind)), kind);
    }
    EXPECT_EQ(laneKindFrom("gpu"), std::nullopt);
}

TEST(NamePatterns, MatchWholeNames) {
    std::optional<std::int64_t> number;
    EXPECT_TRUE(matchesName("*AGENT [#]*", "COMPUTE AGENT [14] QUEUE [1]", &number));
    EXPECT_EQ(number, 14);
    EXPECT_FALSE(matchesName("AGENT #", "AGENT x", nullptr));
    EXPECT_FALSE(matchesName("AGENT", "AGENT 1", nullptr));
    EXPECT_TRUE(matchesName("", "anything", nullptr));
    EXPECT_TRUE(matchesName("a*b*c", "a-b-b-c", nullptr));
    EXPECT_FALSE(matchesName("*a*a*a*a*a*a*b", std::string(1000, 'a'), nullptr));
}

TEST(ProcessLabels, NameTheRank) {
    EXPECT_EQ(labelOfProcess("[TP00-PP01] 4711")->text, "[TP00-PP01]");
    EXPECT_EQ(labelOfProcess("[TP00-PP01] 4711")->rank, std::nullopt);
    EXPECT_EQ(labelOfProcess("[rank 3] python")->rank, 3);
    EXPECT_EQ(labelOfProcess("Rank 12: python")->rank, 12);
    EXPECT_EQ(labelOfProcess("python (rank_2)")->rank, 2);
    EXPECT_FALSE(labelOfProcess("python").has_value());
    EXPECT_FALSE(labelOfProcess("Frank 3").has_value());
    EXPECT_FALSE(labelOfProcess("[]").has_value());
}

/// A file of Kineto's with the processes of two ranks, whose numbers and correlations repeat.
std::shared_ptr<const Trace> mergedTrace(std::string_view first, std::string_view second, DiagnosticLog& log) {
    TraceBuilder builder;
    builder.addFile({"merged.json", "kineto", 0});
    const StringId correlation = builder.intern("correlation");
    std::int64_t number = 100;
    for (const std::string_view label : {first, second}) {
        const TimeNs at{number};
        const TrackId host = builder.addTrack(label.empty() ? number : 0, 1);
        const TrackId device = builder.addTrack(label.empty() ? number % 7 : 0, 7);
        if (!label.empty()) {
            builder.track(host).process_name = builder.intern(std::string(label) + " 5000");
            builder.track(device).process_name = builder.intern(std::string(label) + " 0");
        }
        for (int i = 0; i < 3; ++i) {
            const ArgSetId id = builder.args().addNumber(correlation, label.empty() ? number + i : i, 0);
            builder.addSlice({host, at + TimeNs{10 * i}, TimeNs{1}, builder.intern("cudaLaunchKernel"),
                              builder.intern("cuda_runtime"), id});
            builder.addSlice(
                {device, at + TimeNs{10 * i + 3}, TimeNs{2}, builder.intern("gemm"), builder.intern("kernel"), id});
        }
        number += 100;
    }
    return builder.finish(log);
}

TEST(Processes, OfAMergedFileBecomeFiles) {
    DiagnosticLog log;
    const auto trace = mergedTrace("[rank 4]", "[rank 5]", log);
    ASSERT_EQ(trace->files().size(), 2U);
    EXPECT_EQ(trace->files()[0].rank, 4);
    EXPECT_EQ(trace->files()[1].rank, 5);
    EXPECT_EQ(trace->files()[1].process, "[rank 5]");
    ASSERT_EQ(log.entries().size(), 1U);
    EXPECT_EQ(log.entries()[0].kind, "several-processes");
    for (const Track& track : trace->tracks())
        EXPECT_EQ(track.file, trace->text(track.process_name).starts_with("[rank 4]") ? 0U : 1U);
}

TEST(Processes, TakeTheDevicesWhoseWorkTheyLaunched) {
    DiagnosticLog log;
    const auto trace = mergedTrace("", "", log);
    ASSERT_EQ(trace->files().size(), 2U);
    EXPECT_EQ(trace->files()[0].rank, std::nullopt); // the file's own can be that of one process at most
    ASSERT_EQ(trace->tracks().size(), 4U);
    EXPECT_EQ(trace->tracks()[0].file, trace->tracks()[1].file);
    EXPECT_EQ(trace->tracks()[2].file, trace->tracks()[3].file);
    EXPECT_NE(trace->tracks()[0].file, trace->tracks()[2].file);
}

TEST(Processes, OneWithSeveralDevicesStaysOneFile) {
    TraceBuilder builder;
    builder.addFile({"rank0.json", "kineto", 0});
    for (const std::int64_t pid : {5000, 0, 1}) {
        const TrackId track = builder.addTrack(pid, 7);
        builder.addSlice({track, TimeNs{pid}, TimeNs{5}, builder.intern("work"),
                          builder.intern(pid == 5000 ? "cuda_runtime" : "kernel"), 0});
    }
    DiagnosticLog log;
    const auto trace = builder.finish(log);
    EXPECT_EQ(trace->files().size(), 1U);
    EXPECT_EQ(trace->files()[0].rank, 0);
    EXPECT_TRUE(log.entries().empty());
}

TEST(Processes, GetTheRankThatTheUserStates) {
    TraceBuilder builder;
    builder.addFile({"node-b/trace.json", "chrome", 0});
    builder.addTrack(1, 1);
    TraceRules rules;
    rules.ranks = {{"*node-b*", 9}, {"other", 3}};
    builder.setRules(rules);
    DiagnosticLog log;
    EXPECT_EQ(builder.finish(log)->files()[0].rank, 9);
}

} // namespace
} // namespace bubblescope
