#include "core/families/registry.h"
#include "core/graph/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope {
namespace {

CostModel costs(int forward, int backward, int comm = 0) {
    CostModel model;
    model.times = makeOpTimes(TimeNs{forward}, TimeNs{backward}, {}, {}).value();
    model.comm = TimeNs{comm};
    return model;
}

TEST(Simulate, OneFOneBWithLatencyAsPublished) {
    // (p-1)(t_f+t_b) + 2c[(p-1) + floor((m-1)(p-1)/p)] is idle on every rank of 1F1B with latency c.
    for (int p = 1; p <= 6; ++p) {
        for (int m = p; m <= 12; ++m) {
            const auto step = simulate(makeSchedule({"1f1b", "", p, m, 1}).value(), costs(3, 5, 1)).value();
            const int bubble = (p - 1) * 8 + 2 * ((p - 1) + (m - 1) * (p - 1) / p);
            EXPECT_EQ(step.wall().count(), m * 8 + bubble) << p << " " << m;
        }
    }
}

TEST(Simulate, UnequalStagesOfFThenBAsDerived) {
    // sum(f) + (m-1)max(f) + sum(b) + (m-1)max(b)
    CostModel model;
    for (const auto& [f, b] : {std::pair{3, 4}, {5, 2}, {1, 9}, {2, 2}}) {
        model.stages.push_back(makeOpTimes(TimeNs{f}, TimeNs{b}, {}, {}).value());
    }
    const auto step = simulate(makeSchedule({"fthenb", "", 4, 6, 1}).value(), model).value();
    EXPECT_EQ(step.wall().count(), (3 + 5 + 1 + 2) + 5 * 5 + (4 + 2 + 9 + 2) + 5 * 9);
}

TEST(Simulate, EveryTransferIsSentReceivedAndInTime) {
    const Schedule schedule = makeSchedule({"interleaved", "", 3, 6, 2}).value();
    const StepTimeline step = simulate(schedule, costs(2, 3, 1)).value();
    std::size_t sends = 0;
    std::size_t receives = 0;
    for (std::size_t r = 0; r < step.comm.size(); ++r) {
        for (const CommSpan& span : step.comm[r]) {
            EXPECT_NE(span.peer, Rank{r});
            if (span.kind == CommKind::Send) ++sends;
            if (span.kind != CommKind::Receive) continue;
            ++receives;
            const OpKind kind = span.payload == Payload::Activation ? OpKind::Forward : OpKind::Backward;
            const auto consumer = std::ranges::find_if(step.ranks[r], [&](const TimelineOp& op) {
                return op.op.kind == kind && op.op.microbatch == span.microbatch &&
                       step.stageOf(Rank{r}, op.op.chunk) == span.stage;
            });
            ASSERT_NE(consumer, step.ranks[r].end());
            EXPECT_GE(consumer->start, span.end);
        }
    }
    // 6 stages on 3 ranks: 5 borders, all between ranks, once forward and once backward for 6 micro-batches.
    EXPECT_EQ(sends, 2U * 5 * 6);
    EXPECT_EQ(receives, sends);
}

TEST(Simulate, RefusesWhatCannotRun) {
    Schedule broken = makeSchedule({"1f1b", "", 2, 2, 1}).value();
    std::swap(broken.ranks[1][0], broken.ranks[1][1]);
    const auto step = simulate(broken, costs(1, 1));
    ASSERT_FALSE(step.ok());
    EXPECT_EQ(step.error().kind, ErrorKind::Input);
    EXPECT_NE(step.error().message.find("deadlock"), std::string::npos);
}

TEST(OpTimes, HalvesAndWholesAgree) {
    EXPECT_EQ(makeOpTimes(TimeNs{1}, TimeNs{5}, {}, {}).value().input_grad.count(), 3);
    EXPECT_EQ(makeOpTimes(TimeNs{1}, TimeNs{5}, {}, {}).value().weight_grad.count(), 2);
    EXPECT_EQ(makeOpTimes(TimeNs{1}, {}, TimeNs{4}, TimeNs{3}).value().backward.count(), 7);
    EXPECT_EQ(makeOpTimes(TimeNs{1}, TimeNs{5}, TimeNs{1}, {}).value().weight_grad.count(), 4);
    EXPECT_FALSE(makeOpTimes(TimeNs{1}, TimeNs{5}, TimeNs{1}, TimeNs{1}).ok());
    EXPECT_FALSE(makeOpTimes(TimeNs{1}, TimeNs{5}, TimeNs{6}, {}).ok());
    EXPECT_FALSE(makeOpTimes(TimeNs{1}, {}, {}, TimeNs{1}).ok());
}

} // namespace
} // namespace bubblescope
