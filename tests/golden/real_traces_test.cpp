#include "core/recognise/run.h"
#include "core/trace/trace.h"
#include "tests/support/shared_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace bubblescope {
namespace {

using testing::HasSubstr;

Result<Run> load(const std::string& relative) {
    JobControl control;
    return loadRun({test::realTrace(relative)}, control);
}

/// Loads a trace that must load; counts and order of its steps are checked by the tests.
class RealTraces : public testing::Test {
protected:
    void open(const std::string& relative) {
        auto loaded = load(relative);
        ASSERT_TRUE(loaded.ok()) << loaded.error().text();
        run_ = std::move(loaded).value();
        for (const StepTimeline& step : run_.steps)
            expectNoOverlap(step);
    }

    static void expectNoOverlap(const StepTimeline& step) {
        for (const auto& ops : step.ranks) {
            for (std::size_t i = 1; i < ops.size(); ++i)
                EXPECT_LE(ops[i - 1].end, ops[i].start) << "step " << step.index;
        }
    }

    [[nodiscard]] static std::map<OpKind, int> kindsOf(const std::vector<TimelineOp>& ops) {
        std::map<OpKind, int> kinds;
        for (const TimelineOp& op : ops)
            ++kinds[op.op.kind];
        return kinds;
    }

    bubblescope::Run run_; // a test's own Run() hides the plain name
};

/// Traces that are not part of the source.
class OutsideTraces : public RealTraces {};

// Counted with Python's json module: 5120 "E" events named forward or backward = 20 iterations x 4 ranks x
// 4 chunks x 8 micro-batches x 2. Mean forward time from iteration 1 on: 17.138 ms on rank 3's chunk 3,
// 3.154 to 3.772 ms on every other chunk.
TEST_F(OutsideTraces, MegatronInterleaved) {
    BUBBLESCOPE_NEED_TRACES("megatronapp-pp4");
    ASSERT_NO_FATAL_FAILURE(open("megatronapp-pp4/data-1-pipeline-4-tensor-1-pp-aggregated.json"));

    EXPECT_EQ(run_.format, "megatron");
    EXPECT_EQ(run_.slices, 5120);
    ASSERT_EQ(run_.steps.size(), 20U);
    for (const StepTimeline& step : run_.steps) {
        EXPECT_EQ(step.pp, 4);
        EXPECT_EQ(step.microbatches, 8);
        EXPECT_EQ(step.vpp, 4);
        for (const auto& ops : step.ranks)
            EXPECT_EQ(ops.size(), 64U);
    }
    EXPECT_EQ(run_.schedule.name, "interleaved");
    EXPECT_FALSE(run_.departure.has_value());
    EXPECT_TRUE(run_.problems.empty());
}

TEST_F(OutsideTraces, MegatronLastChunkOfTheLastRankIsSlow) {
    BUBBLESCOPE_NEED_TRACES("megatronapp-pp4");
    ASSERT_NO_FATAL_FAILURE(open("megatronapp-pp4/data-1-pipeline-4-tensor-1-pp-aggregated.json"));

    std::map<std::pair<std::size_t, int>, TimeNs> total;
    for (const StepTimeline& step : run_.steps) {
        for (std::size_t r = 0; r < step.ranks.size() && step.index > 0; ++r) {
            for (const TimelineOp& op : step.ranks[r]) {
                if (op.op.kind == OpKind::Forward) total[{r, op.op.chunk.value}] += op.duration();
            }
        }
    }
    const TimeNs last = total[{3, 3}];
    for (const auto& [place, time] : total) {
        if (place == std::pair<std::size_t, int>{3, 3}) continue;
        EXPECT_GT(last, 4 * time) << "rank " << place.first << ", chunk " << place.second;
    }
}

// Counted with a regular expression over the unpacked files: each of the four holds 32 PP:<stage>F<i> and 32
// PP:<stage>B<i>, for two profiler steps.
TEST_F(RealTraces, TorchInterleaved) {
    ASSERT_NO_FATAL_FAILURE(open("torch-pp-cpu-gloo/interleaved1f1b_pp4_mb8_v2"));

    EXPECT_EQ(run_.format, "kineto");
    EXPECT_EQ(run_.files.size(), 4U);
    ASSERT_EQ(run_.steps.size(), 2U);
    EXPECT_EQ(run_.steps[0].index, 2);
    EXPECT_EQ(run_.steps[1].index, 3);
    for (const StepTimeline& step : run_.steps) {
        EXPECT_EQ(step.pp, 4);
        EXPECT_EQ(step.microbatches, 8);
        EXPECT_EQ(step.vpp, 2);
        EXPECT_EQ(step.placement, Placement::Loop);
        for (const auto& ops : step.ranks) {
            const auto kinds = kindsOf(ops);
            EXPECT_EQ(kinds.at(OpKind::Forward), 16);
            EXPECT_EQ(kinds.at(OpKind::Backward), 16);
            EXPECT_EQ(kinds.at(OpKind::Optimizer), 1);
        }
    }
    EXPECT_EQ(run_.schedule.name, "interleaved");
}

// In rank 1's file PP:1F0 of ProfilerStep#2 lasts from 618.101 to 16956.828 us of the step and the gloo:recv
// that PP:1RECV_F0 posted ends at 11039.757 us: the op took 5917.071 us, the rest was the wait.
TEST_F(RealTraces, TorchWaitInsideAnOpIsNotPartOfIt) {
    ASSERT_NO_FATAL_FAILURE(open("torch-pp-cpu-gloo/interleaved1f1b_pp4_mb8_v2"));

    const TimelineOp& first = run_.steps[0].ranks[1].front();
    EXPECT_EQ(opName(first.op), "F0.0");
    EXPECT_EQ(first.duration(), TimeNs{5'917'071});
    const auto& comm = run_.steps[0].comm[1];
    const auto wait =
        std::find_if(comm.begin(), comm.end(), [](const CommSpan& s) { return s.kind == CommKind::Wait; });
    ASSERT_NE(wait, comm.end());
    EXPECT_EQ(wait->end, first.start);
    EXPECT_EQ(wait->end - wait->start, TimeNs{10'421'656});
    EXPECT_EQ(wait->stage, Stage{1});
    EXPECT_EQ(wait->peer, Rank{0});
}

TEST_F(RealTraces, TorchGPipe) {
    ASSERT_NO_FATAL_FAILURE(open("torch-pp-cpu-gloo/gpipe_pp2_mb4"));

    ASSERT_EQ(run_.steps.size(), 2U);
    EXPECT_EQ(run_.steps[0].pp, 2);
    EXPECT_EQ(run_.steps[0].microbatches, 4);
    EXPECT_EQ(run_.steps[0].vpp, 1);
    EXPECT_EQ(run_.schedule.name, "fthenb");
    // Rank 1's Forward 0 lasts from 162.492 to 17264.467 us, its gloo:recv ends at 8804.245 us.
    EXPECT_EQ(run_.steps[0].ranks[1].front().duration(), TimeNs{8'460'222});
}

TEST_F(RealTraces, TorchZeroBubbleV) {
    ASSERT_NO_FATAL_FAILURE(open("torch-pp-cpu-gloo/zbv_pp2_mb4_v2"));

    ASSERT_EQ(run_.steps.size(), 2U);
    EXPECT_EQ(run_.steps[0].pp, 2);
    EXPECT_EQ(run_.steps[0].microbatches, 4);
    EXPECT_EQ(run_.steps[0].vpp, 2);
    EXPECT_EQ(run_.steps[0].placement, Placement::V);
    const auto kinds = kindsOf(run_.steps[0].ranks[1]);
    EXPECT_EQ(kinds.at(OpKind::Forward), 8);
    EXPECT_EQ(kinds.at(OpKind::BackwardInput), 8);
    EXPECT_EQ(kinds.at(OpKind::BackwardWeight), 8);
    EXPECT_EQ(kinds.count(OpKind::Backward), 0U);
    EXPECT_EQ(run_.schedule.placement, Placement::V);
}

// Stock PyTorch's Schedule1F1B leaves no annotation: the order of sends, receives and operators tells.
TEST_F(RealTraces, TorchOneFOneBWithoutAnnotations) {
    ASSERT_NO_FATAL_FAILURE(open("torch-pp-cpu-gloo/1f1b_pp4_mb8"));

    ASSERT_EQ(run_.steps.size(), 2U);
    EXPECT_EQ(run_.steps[0].index, 2);
    EXPECT_EQ(run_.steps[0].pp, 4);
    EXPECT_EQ(run_.steps[0].microbatches, 8);
    EXPECT_EQ(run_.steps[0].vpp, 1);
    EXPECT_EQ(run_.schedule.name, "1f1b");
    EXPECT_FALSE(run_.departure.has_value());
    EXPECT_EQ(run_.explanation.source, "inferred");
    EXPECT_GE(run_.explanation.confidence, 0.95);
    EXPECT_TRUE(run_.explanation.alternatives.empty());
    // Rank 1's first forward: from its first aten::linear, 6684.164 us into ProfilerStep#2, to the end of aten::detach.
    const TimelineOp& first = run_.steps[0].ranks[1].front();
    EXPECT_EQ(first.duration(), TimeNs{5'246'631});
}

TEST_F(OutsideTraces, ByteDanceTimeline) {
    BUBBLESCOPE_NEED_TRACES("bytedance-straggler");
    ASSERT_NO_FATAL_FAILURE(open("bytedance-straggler/timeline-ST.json.gz"));

    ASSERT_EQ(run_.steps.size(), 64U) << "32 steps on each of two replicas";
    EXPECT_EQ(run_.steps[0].index, 23);
    EXPECT_EQ(run_.steps[0].replica, 0);
    EXPECT_EQ(run_.steps[1].index, 23);
    EXPECT_EQ(run_.steps[1].replica, 1);
    EXPECT_EQ(run_.steps[0].pp, 4);
    EXPECT_EQ(run_.steps[0].microbatches, 4);
    EXPECT_EQ(run_.schedule.name, "1f1b");
    for (const StepTimeline& step : run_.steps) {
        for (const auto& comm : step.comm)
            EXPECT_GE(comm.size(), 8U);
    }
}

TEST(UnrecognisedOutsideTraces, OtherKinetoTracesSayWhatWasFound) {
    BUBBLESCOPE_NEED_TRACES("param-dlrm-8rank");
    const auto loaded = load("param-dlrm-8rank");
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().kind, ErrorKind::Input);
    EXPECT_THAT(loaded.error().message, HasSubstr("slices of the categories"));
}

TEST(UnrecognisedOutsideTraces, FilesOfDifferentJobsAreNamed) {
    BUBBLESCOPE_NEED_TRACES("hta");
    const auto loaded = load("hta");
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().kind, ErrorKind::Input);
    EXPECT_THAT(loaded.error().message, HasSubstr("2 of 128 ranks"));
}

} // namespace
} // namespace bubblescope
