// Families along a V against the orders that the published generators produced, op by op, and our simulation
// against the times that the files give.

#include "core/schedule/zb_v_paddle.h"
#include "tests/oracle/order_match.h"
#include "tests/support/shared_data.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <optional>

namespace bubblescope {
namespace {

using test::Json;
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

/// Paddle's five run times: forward, either half of a backward, loss, communication.
ScheduleSpec paddleSpec(const Json& one) {
    ScheduleSpec spec = test::specOf(one, "zb-v", "paddle");
    const auto times = one.at("params").at("program_runtimes").get<std::array<int, 5>>();
    spec.times = {TimeNs{times[0]}, TimeNs{times[1] + times[2]}, TimeNs{times[1]}, TimeNs{times[2]}, TimeNs{0}};
    spec.loss = TimeNs{times[3]};
    spec.comm = TimeNs{times[4]};
    return spec;
}

TEST(PaddlesZbV, Unlimited) {
    BUBBLESCOPE_NEED_SHARED("oracles");
    int equal = 0;
    for (const Json& one : test::oracleCases("paddle/zbvpp.json")) {
        EXPECT_TRUE(test::sameOrder(one, paddleSpec(one))) << one.at("params").dump();
        ++equal;
    }
    EXPECT_EQ(equal, 257);
}

/// The file's memory numbers are one set for all ops, with a need of input gradients while they run that the command
/// line does not ask for.
std::optional<std::vector<std::vector<Op>>> limitedOrder(const Json& one) {
    const Json& params = one.at("params");
    const Json& memory = params.at("mem_after_and_peak");
    const ScheduleSpec spec = paddleSpec(one);
    ZbVPaddleInput input{spec.pp, spec.microbatches, spec.vpp, spec.times, spec.loss, spec.comm};
    input.sizes = {memory.at("forward")[0].get<int>(), -memory.at("backward_b")[0].get<int>(),
                   -memory.at("backward_w")[0].get<int>()};
    input.input_grad_peak = memory.at("backward_b")[1].get<int>();
    input.memory_limit = static_cast<std::int64_t>(std::floor(params.at("max_memory").get<double>())) -
                         params.at("base_memory").get<int>();
    return zbVPaddleOrder(input);
}

TEST(PaddlesZbV, WithinAMemoryLimit) {
    BUBBLESCOPE_NEED_SHARED("oracles");
    int equal = 0;
    int refused = 0;
    for (const Json& one : test::oracleList("paddle/zbvpp_memory_limited.json", "cases")) {
        const auto order = limitedOrder(one);
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
