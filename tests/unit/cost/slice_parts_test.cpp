#include "core/cost/slice_parts.h"

#include "core/cost/measured_times.h"
#include "core/cost/memory_model.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bubblescope {
namespace {

Schedule sliced(const char* family, int p, int m, int v, int k) {
    ScheduleSpec spec{family, "", p, m, v};
    spec.sequence_slices = k;
    return makeSchedule(spec).value();
}

CostModel wholeCosts(int forward, int backward) {
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{forward}, TimeNs{backward}, {}, {}).value();
    return costs;
}

TimeNs wallOf(const Schedule& schedule, CostModel costs, SliceCut cut, double attention) {
    const SliceParts parts = sliceParts(cut, 4, attention).value();
    addSliceTimes(costs, schedule, parts);
    return simulate(schedule, costs).value().wall();
}

/// thunlp/Seq1F1B's split_solver.py for its example: 24 layers of width 4096, 16,384 tokens. It solves a quadratic
/// equation per slice from the end of the sequence; attention takes 24.1 % of the FLOPs.
TEST(SliceParts, BalancedAreThoseOfSeq1F1BsSolver) {
    const SliceParts parts = sliceParts(SliceCut::Balanced, 4, 0.24129314383882555).value();
    const double tokens[] = {4927.375837516029, 4238.979194833044, 3777.4437962518155, 3440.201171399113};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(parts.tokens[i] * 16384, tokens[i], 1e-6);
        EXPECT_EQ(parts.time[i], 1);
    }
}

/// The work of a prefix grows with its square if all of it is attention, and with its length if none is.
TEST(SliceParts, ExtremesAreSquareRootsAndEqualLengths) {
    const SliceParts all = sliceParts(SliceCut::Balanced, 9, 1).value();
    EXPECT_NEAR(all.tokens[0], 1.0 / 3, 1e-12);
    EXPECT_NEAR(std::accumulate(all.tokens.begin(), all.tokens.begin() + 4, 0.0), 2.0 / 3, 1e-12);
    const SliceParts none = sliceParts(SliceCut::Balanced, 8, 0).value();
    for (const double share : none.tokens)
        EXPECT_NEAR(share, 1.0 / 8, 1e-12);
    EXPECT_TRUE(sliceParts(SliceCut::Even, 8, 0).value().equalTimes());
    const SliceParts even = sliceParts(SliceCut::Even, 4, 1).value(); // 1, 3, 5 and 7 sixteenths of the work
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_NEAR(even.time[i], (2.0 * static_cast<double>(i) + 1) / 4, 1e-12);
    EXPECT_NEAR(std::accumulate(even.time.begin(), even.time.end(), 0.0), 4, 1e-12);
}

TEST(SliceParts, RejectsImpossibleInput) {
    EXPECT_FALSE(sliceParts(SliceCut::Even, 4, 1.5).ok());
    EXPECT_FALSE(sliceParts(SliceCut::Even, 4, std::nan("")).ok());
    EXPECT_FALSE(sliceCutFromName("odd").ok());
    EXPECT_EQ(sliceCutFromName("redistributed").value(), SliceCut::Redistributed);
}

/// The bubble is (p−1)(t_f+t_b) of a slice only if all slices take equally long.
TEST(SliceTimes, EqualWorkKeepsTheClosedForm) {
    for (const auto& [family, v] : {std::pair("seq1f1b", 1), {"seq1f1b", 2}, {"seqpipe", 2}}) {
        const Schedule schedule = sliced(family, 4, 8, v, 4);
        const CostModel costs = wholeCosts(1000, 2000);
        const TimeNs ideal = (8 * v * 4 + 3) * (costs.times.forward + costs.times.backward);
        EXPECT_EQ(wallOf(schedule, costs, SliceCut::Balanced, 0.6), ideal);
        EXPECT_EQ(wallOf(schedule, costs, SliceCut::Redistributed, 0.6), ideal);
        EXPECT_GT(wallOf(schedule, costs, SliceCut::Even, 0.6), ideal);
    }
}

TEST(SliceTimes, TheLastRankIsBusyForAllSlices) {
    const Schedule schedule = sliced("seq1f1b", 3, 5, 1, 4);
    CostModel costs = wholeCosts(1000, 3000);
    addSliceTimes(costs, schedule, sliceParts(SliceCut::Even, 4, 0.5).value());
    TimeNs busy{0};
    const StepTimeline step = simulate(schedule, costs).value();
    for (const TimelineOp& op : step.ranks.back()) {
        busy += op.duration();
        if (op.op.kind != OpKind::Forward) continue;
        EXPECT_EQ(op.duration(), TimeNs{500 + 125 * (2 * op.op.sequence + 1)}); // (1−a)·t_f + a·t_f·(2i+1)/4
    }
    EXPECT_EQ(busy, TimeNs{5 * 4 * 4000});
}

/// A transfer's latency stays, its bytes follow the length of the slice.
TEST(SliceTimes, LongerSlicesSendMoreBytes) {
    const Schedule schedule = sliced("seq1f1b", 2, 1, 1, 4);
    CostModel costs = wholeCosts(1000, 1000);
    costs.comm = TimeNs{10};
    costs.transfers.activation_bytes = costs.transfers.gradient_bytes = 600;
    costs.transfers.bytes_per_second = 1'000'000'000;
    addSliceTimes(costs, schedule, sliceParts(SliceCut::Balanced, 4, 1).value());
    for (const auto& [slice, time] : {std::pair(0, 10 + 1200), {3, 10 + 322}}) { // 1/2 and 1−√3/2 of the sequence
        const auto found = costs.measured->transfer(Payload::Activation, Microbatch{0}, Stage{1}, slice);
        ASSERT_TRUE(found);
        EXPECT_EQ(*found, TimeNs{time});
    }
}

TEST(SliceMemory, FollowsTheLengthOfSlices) {
    const Schedule schedule = sliced("seq1f1b", 1, 1, 1, 4); // four forwards, then four backwards
    MemoryModel model;
    model.stages.resize(1);
    model.stages[0].activations = {1000, 500, 500};
    model.slice_tokens = sliceParts(SliceCut::Balanced, 4, 1).value().tokens;
    EXPECT_EQ(memoryUse(schedule, model).front().peak_activations, 1000);
    const StepTimeline step = simulate(schedule, wholeCosts(10, 10)).value();
    const auto curve = memoryCurve(step, Rank{0}, model);
    EXPECT_EQ(curve[0].bytes, 0);
    EXPECT_EQ(curve[1].bytes, 500); // the first slice is half of the sequence
    EXPECT_EQ(curve.back().bytes, 0);
    EXPECT_EQ(std::ranges::max(curve, {}, &MemoryPoint::bytes).bytes, 1000);
}

} // namespace
} // namespace bubblescope
