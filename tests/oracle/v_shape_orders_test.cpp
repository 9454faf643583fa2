// Families along a V against the orders that the published generators produced, op by op, and our simulation
// against the times that the files give.

#include "tests/oracle/order_match.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

using test::Json;
using test::Source;

class VShapeOrders : public testing::TestWithParam<Source> {};

TEST_P(VShapeOrders, Equal) {
    test::expectEqual(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Sail, VShapeOrders,
                         testing::Values(Source{"sail-sg-zero-bubble/v_half.json", "v-half", "", 92, true},
                                         Source{"sail-sg-zero-bubble/v_min.json", "v-min", "", 85, true},
                                         Source{"sail-sg-zero-bubble/v1f1b.json", "v-1f1b", "", 74, true}));

TEST(PaddlesZbV, Unlimited) {
    int equal = 0;
    for (const Json& one : test::oracleCases("paddle/zbvpp.json")) {
        EXPECT_TRUE(test::sameOrder(one, test::paddleZbVSpec(one))) << one.at("params").dump();
        ++equal;
    }
    EXPECT_EQ(equal, 257);
}

TEST(PaddlesZbV, WithinAMemoryLimit) {
    int equal = 0;
    int refused = 0;
    for (const Json& one : test::oracleList("paddle/zbvpp_memory_limited.json", "cases")) {
        const auto order = test::paddleZbVLimited(one);
        EXPECT_EQ(order.has_value(), !one.contains("rejected")) << one.at("params").dump();
        if (!order) {
            ++refused;
            continue;
        }
        EXPECT_EQ(*order, test::oracleOrder(one)) << one.at("params").dump();
        ++equal;
    }
    EXPECT_EQ(equal, 45);
    EXPECT_EQ(refused, 8);
}

} // namespace
} // namespace bubblescope
