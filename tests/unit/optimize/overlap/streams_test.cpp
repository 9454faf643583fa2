// The two streams, by hand.

#include "core/optimize/overlap/streams.h"
#include "tests/unit/optimize/overlap/op_lists.h"

#include <gtest/gtest.h>

namespace bubblescope::overlap {
namespace {

using test::opList;

constexpr Pass B = Pass::Backward;
constexpr Pass F = Pass::Forward;

std::vector<std::pair<int, int>> times(const PlanRun& run) {
    std::vector<std::pair<int, int>> out;
    for (const OpSpan& span : run.spans)
        out.emplace_back(span.start.count(), span.end.count());
    return out;
}

using Times = std::vector<std::pair<int, int>>;

TEST(OverlapStreams, OtherPassRunsBesideAnAllReduce) {
    // B0 = 4, its all-reduce 5; F0 = 3 runs at the same time, its own all-reduce 2 queues behind; B1 waits until 9.
    const Plan plan{{opList({{'c', 4}, {'a', 5}, {'c', 2}}), opList({{'c', 3}, {'a', 2}, {'c', 1}})},
                    {{B, 0, 2}, {F, 0, 2}, {B, 2, 3}, {F, 2, 3}}};
    const PlanRun run = runPlan(plan, {});
    EXPECT_EQ(times(run), (Times{{0, 4}, {4, 9}, {4, 7}, {9, 11}, {9, 11}, {11, 12}}));
    EXPECT_EQ(run.end(), TimeNs{12});
    EXPECT_EQ(run.ends[passIndex(B)], TimeNs{11});

    const auto shares = reduceSpans(plan, run);
    ASSERT_EQ(shares.size(), 2U);
    EXPECT_EQ(shares[0].hidden, TimeNs{3}) << "the backward's is as long as 5, its piece only 3";
    EXPECT_EQ(shares[1].hidden, TimeNs{2});
}

TEST(OverlapStreams, BlockingAllReduceHidesNothing) {
    const Plan plan{{opList({{'c', 4}, {'b', 5}, {'c', 2}}), opList({{'c', 3}, {'b', 2}})}, {{B, 0, 3}, {F, 0, 2}}};
    const PlanRun run = runPlan(plan, {});
    EXPECT_EQ(times(run), (Times{{0, 4}, {4, 9}, {9, 11}, {11, 14}, {14, 16}}));
    for (const ReduceSpan& share : reduceSpans(plan, run))
        EXPECT_EQ(share.hidden, TimeNs{0});
}

TEST(OverlapStreams, WeightGradientDoesNotWait) {
    // dX 3, all-reduce 5 during dW 4, then 2 that needs both.
    const Plan plan{{opList({{'c', 3}, {'a', 5}, {'w', 4}, {'c', 2}}), {}}, {{B, 0, 4}}};
    const PlanRun run = runPlan(plan, {});
    EXPECT_EQ(times(run), (Times{{0, 3}, {3, 8}, {3, 7}, {8, 10}}));
    EXPECT_EQ(reduceSpans(plan, run)[0].hidden, TimeNs{4});
}

TEST(OverlapStreams, EqualPriorityQueuesBehindTheNextOp) {
    // During a weight gradient an all-reduce of equal priority gets no time: it starts when that has ended.
    const Plan weight{{opList({{'c', 3}, {'a', 5}, {'w', 4}, {'c', 2}}), {}}, {{B, 0, 4}}};
    EXPECT_EQ(times(runPlan(weight, {false, {}})), (Times{{0, 3}, {7, 12}, {3, 7}, {12, 14}}));
    // During another pass's piece of two ops it starts after the first.
    const Plan pair{{opList({{'c', 4}, {'a', 5}, {'c', 2}}), opList({{'c', 3}, {'c', 6}})},
                    {{B, 0, 2}, {F, 0, 2}, {B, 2, 3}}};
    EXPECT_EQ(times(runPlan(pair, {false, {}})), (Times{{0, 4}, {7, 12}, {4, 7}, {7, 13}, {13, 15}}));
    // The op that needs it does not hold it up.
    const Plan alone{{opList({{'c', 4}, {'a', 5}, {'c', 2}}), {}}, {{B, 0, 3}}};
    EXPECT_EQ(times(runPlan(alone, {false, {}})), (Times{{0, 4}, {4, 9}, {9, 11}}));
}

TEST(OverlapStreams, CutsCostTheComputeStream) {
    const Plan plan{{opList({{'c', 4}, {'a', 1}, {'c', 2}}), opList({{'c', 3}, {'c', 3}})},
                    {{B, 0, 2}, {F, 0, 1}, {B, 2, 3}, {F, 1, 2}}};
    EXPECT_EQ(runPlan(plan, {true, TimeNs{10}}).end(), TimeNs{4 + 3 + 10 + 2 + 10 + 3});
}

TEST(OverlapStreams, PassesWaitForTheirInputs) {
    const Plan plan{{opList({{'c', 4}}), opList({{'c', 3}})}, {{B, 0, 1}, {F, 0, 1}}};
    StreamState state;
    state.compute = TimeNs{2};
    EXPECT_EQ(times(runPlan(plan, {}, state, {TimeNs{5}, TimeNs{20}})), (Times{{5, 9}, {20, 23}}));
    EXPECT_EQ(state.compute, TimeNs{23});
}

TEST(OverlapStreams, ChartIsToScale) {
    const Plan plan{{opList({{'c', 4}, {'a', 5}, {'c', 2}}), opList({{'c', 3}, {'a', 2}, {'c', 1}})},
                    {{B, 0, 2}, {F, 0, 2}, {B, 2, 3}, {F, 2, 3}}};
    EXPECT_EQ(streamChart(plan, runPlan(plan, {}), 24), "compute    |B0------F0----....B1--F1|\n"
                                                        "all-reduce |........B0========F0==..|\n");
    const Plan blocking{{opList({{'c', 2}, {'b', 4}, {'c', 2}}), {}}, {{B, 0, 3}}};
    EXPECT_EQ(streamChart(blocking, runPlan(blocking, {}), 16), "compute    |B0--========B0--|\n"
                                                                "all-reduce |....B0======....|\n");
}

} // namespace
} // namespace bubblescope::overlap
