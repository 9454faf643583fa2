#include "core/timeline/step_timeline.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

TimelineOp op(OpKind kind, int microbatch, std::int64_t start, std::int64_t end) {
    return {{kind, Microbatch(microbatch), Chunk(0)}, TimeNs{start}, TimeNs{end}};
}

StepTimeline stepOf(std::vector<std::vector<TimelineOp>> ranks) {
    StepTimeline step;
    step.pp = static_cast<int>(ranks.size());
    step.ranks = std::move(ranks);
    step.comm.resize(step.ranks.size());
    step.fitWindow();
    return step;
}

constexpr auto F = OpKind::Forward;
constexpr auto B = OpKind::Backward;

TEST(Blend, MovesEachOpItsShareOfTheWay) {
    const StepTimeline from = stepOf({{op(F, 0, 100, 140), op(B, 0, 200, 300)}, {op(F, 0, 150, 190)}});
    const StepTimeline to = stepOf({{op(F, 0, 100, 120), op(B, 0, 140, 200)}, {op(F, 0, 120, 140)}});
    const StepTimeline quarter = blend(from, to, 0.25);
    ASSERT_EQ(quarter.ranks.size(), 2U);
    ASSERT_EQ(quarter.ranks[0].size(), 2U);
    EXPECT_EQ(quarter.ranks[0][0].start, TimeNs{100});
    EXPECT_EQ(quarter.ranks[0][0].end, TimeNs{135});
    EXPECT_EQ(quarter.ranks[0][1].start, TimeNs{185});
    EXPECT_EQ(quarter.ranks[0][1].end, TimeNs{275});
    EXPECT_EQ(quarter.ranks[1][0].start, TimeNs{142}); // 7.5 of the way is 8
    EXPECT_EQ(quarter.begin, TimeNs{100});
    EXPECT_EQ(quarter.end, TimeNs{275});
}

TEST(Blend, EndsAreTheTimelinesThemselves) {
    const StepTimeline from = stepOf({{op(F, 0, 0, 10), op(OpKind::Optimizer, 0, 30, 40)}});
    const StepTimeline to = stepOf({{op(F, 0, 0, 8), op(F, 1, 8, 16)}});
    EXPECT_EQ(blend(from, to, 0).ranks[0].size(), 2U);
    EXPECT_EQ(blend(from, to, 0).ranks[0][1].op.kind, OpKind::Optimizer);
    EXPECT_EQ(blend(from, to, 1).ranks[0][1].op.microbatch, Microbatch(1));
    EXPECT_EQ(blend(from, to, 1).end, TimeNs{16});
}

TEST(Blend, LeavesOutWhatOnlyOneOfThemHas) {
    const StepTimeline from = stepOf({{op(F, 0, 0, 10), op(B, 0, 10, 20), op(F, 2, 20, 30)}, {op(F, 0, 0, 5)}});
    const StepTimeline to = stepOf({{op(F, 0, 0, 10), op(F, 1, 10, 20), op(F, 2, 20, 24)}});
    const StepTimeline middle = blend(from, to, 0.5);
    ASSERT_EQ(middle.ranks.size(), 1U); // as many as the goal has
    ASSERT_EQ(middle.ranks[0].size(), 2U);
    EXPECT_EQ(middle.ranks[0][0].op.microbatch, Microbatch(0));
    EXPECT_EQ(middle.ranks[0][1].op.microbatch, Microbatch(2));
    EXPECT_EQ(middle.ranks[0][1].end, TimeNs{27});
    // The other way round a rank that the start does not have is empty.
    EXPECT_EQ(blend(to, from, 0.5).ranks[1].size(), 0U);
}

TEST(Blend, StaysSortedWhereTheOrdersDiffer) {
    const StepTimeline from = stepOf({{op(F, 0, 0, 10), op(B, 0, 10, 20)}});
    StepTimeline to = stepOf({{op(B, 0, 0, 10), op(F, 0, 10, 20)}});
    to.ranks[0][0].op.overlapped = to.ranks[0][1].op.overlapped = true; // matters to no name
    for (const double share : {0.2, 0.5, 0.8}) {
        const StepTimeline part = blend(from, to, share);
        const auto& ops = part.ranks[0];
        ASSERT_EQ(ops.size(), 2U);
        EXPECT_LE(ops[0].start, ops[1].start);
        EXPECT_EQ(ops[0].op.kind, share < 0.6 ? F : B);
    }
}

} // namespace
} // namespace bubblescope
