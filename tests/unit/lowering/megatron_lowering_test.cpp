#include "core/families/registry.h"
#include "core/graph/hang.h"
#include "core/lowering/deepspeed_lowering.h"
#include "core/lowering/megatron_lowering.h"
#include "core/lowering/paddle_lowering.h"
#include "core/schedule/action_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>

namespace bubblescope {
namespace {

Schedule oneFOneB(int pp, int microbatches) {
    return makeSchedule({"1f1b", "", pp, microbatches, 1}).value();
}

std::string megatronRow(const LoweredSchedule& lowered, int rank) {
    return fmt::format("{}", fmt::join(actionCells(lowered, Rank{rank}), " "));
}

TEST(MegatronLowering, PostsAndWaitsAsItsCallsDo) {
    const auto batched = lowerAsMegatron(oneFOneB(2, 2), MegatronTransfers::Batched).value();
    EXPECT_EQ(megatronRow(batched, 0), "0F0 0SEND_F0 0WAIT_SEND_F0 0F1 (0SEND_F1;0RECV_B0)GROUP 0WAIT_SEND_F1 "
                                       "0WAIT_RECV_B0 0B0 0RECV_B1 0WAIT_RECV_B1 0B1");
    EXPECT_EQ(megatronRow(batched, 1), "1RECV_F0 1WAIT_RECV_F0 1F0 1B0 (1SEND_B0;1RECV_F1)GROUP 1WAIT_SEND_B0 "
                                       "1WAIT_RECV_F1 1F1 1B1 1SEND_B1 1WAIT_SEND_B1");
    const auto separate = lowerAsMegatron(oneFOneB(2, 2), MegatronTransfers::Separate).value();
    EXPECT_EQ(
        megatronRow(separate, 0),
        "0F0 0SEND_F0 0WAIT_SEND_F0 0F1 0SEND_F1 0RECV_B0 0WAIT_SEND_F1 0WAIT_RECV_B0 0B0 0RECV_B1 0WAIT_RECV_B1 0B1");
    EXPECT_EQ(
        megatronRow(separate, 1),
        "1RECV_F0 1WAIT_RECV_F0 1F0 1B0 1RECV_F1 1SEND_B0 1WAIT_RECV_F1 1WAIT_SEND_B0 1F1 1B1 1SEND_B1 1WAIT_SEND_B1");
}

TEST(MegatronLowering, CannotHangInOneCommunicator) {
    for (const int pp : {2, 3, 4, 8}) {
        for (const int microbatches : {1, 2, 5, 12}) {
            for (const MegatronTransfers transfers : {MegatronTransfers::Batched, MegatronTransfers::Separate}) {
                const auto lowered = lowerAsMegatron(oneFOneB(pp, microbatches), transfers).value();
                EXPECT_TRUE(checkActions(lowered).empty());
                EXPECT_FALSE(hangVerdict(lowered, {{CommunicatorKind::One, {}}, 0, false}).hangs())
                    << pp << " " << microbatches;
            }
        }
    }
}

TEST(MegatronLowering, RefusesOtherOrders) {
    EXPECT_FALSE(lowerAsMegatron(makeSchedule({"fthenb", "", 2, 4, 1}).value(), MegatronTransfers::Batched).ok());
    EXPECT_FALSE(lowerAsMegatron(makeSchedule({"looped-bfs", "", 2, 4, 2}).value(), MegatronTransfers::Batched).ok());
    EXPECT_FALSE(lowerAsDeepSpeed(makeSchedule({"fthenb", "", 2, 4, 1}).value()).ok());
    // Paddle's own order needs more than two ranks.
    EXPECT_FALSE(lowerAsPaddle(makeSchedule({"interleaved", "megatron", 2, 4, 2}).value(), false).ok());
}

} // namespace
} // namespace bubblescope
