// ZB-H1, ZB-H2 and interleaved zero-bubble against the orders that frameworks and papers' programs produced, op
// by op; and our simulation against the times they give.

#include "tests/oracle/order_match.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

using test::Json;
using test::Source;

class SplitBackwardOrders : public testing::TestWithParam<Source> {};

TEST_P(SplitBackwardOrders, Equal) {
    test::expectEqual(GetParam());
}

// Victarry's times leave out the last stage's wait of W for B and add other latencies: orders only.
INSTANTIATE_TEST_SUITE_P(ZbH1, SplitBackwardOrders,
                         testing::Values(Source{"own-sim/zbh1.json", "zb-h1", "handcrafted", 133, true},
                                         Source{"victarry-pp-schedule-visualization/zb1p.json", "zb-h1", "handcrafted",
                                                47},
                                         Source{"paddle/zbh1.json", "zb-h1", "paddle", 34}));

INSTANTIATE_TEST_SUITE_P(ZbH2, SplitBackwardOrders,
                         testing::Values(Source{"own-sim/zbh2.json", "zb-h2", "", 95, true}));

INSTANTIATE_TEST_SUITE_P(InterleavedZb, SplitBackwardOrders,
                         testing::Values(Source{"torch/InterleavedZeroBubble.json", "interleaved-zb", "torch", 124}));

/// minPP decides by a greedy simulation of its own, with one time unit for every op: as ours for m = p, the four
/// cases counted here. With m > p it holds weight gradients back until no forward is left.
TEST(SplitBackwardOrders, MinPpDiffersWhereItsWeightGradientsAreGreedy) {
    int equal = 0;
    int other = 0;
    for (const Json& one : test::oracleCases("minpp/zb1f1b.json"))
        ++(test::sameOrder(one, test::specOf(one, "zb-h1", "handcrafted")) ? equal : other);
    EXPECT_EQ(equal, 4);
    EXPECT_EQ(other, 6);
}

TEST(SplitBackwardOrders, RefusesWhatPyTorchAndPaddleRefuse) {
    for (const Json& one : test::oracleList("torch/InterleavedZeroBubble.json", "rejected"))
        EXPECT_FALSE(makeSchedule(test::specOf(one, "interleaved-zb")).ok()) << one.dump();
    for (const Json& one : test::oracleList("paddle/zbh1.json", "cases")) {
        if (one.contains("rejected")) {
            EXPECT_FALSE(makeSchedule(test::specOf(one, "zb-h1", "paddle")).ok()) << one.dump();
        }
    }
}

} // namespace
} // namespace bubblescope
