// Interleaved orders with split backwards against those that the published generators produced, op by op, and our
// simulation against the times that the files give.

#include "tests/oracle/order_match.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

using test::Json;

TEST(SplitInterleavedOrders, Sail) {
    int equal = 0;
    for (const Json& one : test::oracleCases("sail-sg-zero-bubble/group_interleaved_1f1b.json")) {
        ScheduleSpec spec = test::specOf(one, "interleaved", "sail-sg");
        spec.times = test::costsOf(one).times;
        spec.group_size = test::param(one, {"interleave_group_size"}, 0);
        EXPECT_TRUE(test::sameOrder(one, spec)) << one.at("params").dump();
        EXPECT_TRUE(test::sameTimes(one, spec)) << one.at("params").dump();
        ++equal;
    }
    EXPECT_EQ(equal, 34);
}

TEST(SplitInterleavedOrders, PaddlesStaticPass) {
    test::expectEqual({"paddle/vpp_split_backward.json", "interleaved", "paddle-static-split", 15});
}

} // namespace
} // namespace bubblescope
