// Families along a V against the orders that the published generators produced, op by op, and our simulation
// against the times that the files give.

#include "tests/oracle/order_match.h"
#include "tests/support/shared_data.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

using test::Source;

class VShapeOrders : public testing::TestWithParam<Source> {};

TEST_P(VShapeOrders, Equal) {
    BUBBLESCOPE_NEED_SHARED("oracles");
    test::expectEqual(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Sail, VShapeOrders,
                         testing::Values(Source{"sail-sg-zero-bubble/v_half.json", "v-half", "", 92, true},
                                         Source{"sail-sg-zero-bubble/v_min.json", "v-min", "", 85, true},
                                         Source{"sail-sg-zero-bubble/v1f1b.json", "v-1f1b", "", 74, true}));

} // namespace
} // namespace bubblescope
