// The calls of Megatron-core, DeepSpeed and Paddle, recorded while their own code ran.

#include "core/families/registry.h"
#include "core/graph/hang.h"
#include "core/lowering/deepspeed_lowering.h"
#include "core/lowering/megatron_lowering.h"
#include "core/lowering/paddle_lowering.h"
#include "core/schedule/action_check.h"
#include "tests/support/oracles.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bubblescope {
namespace {

using test::Json;

Schedule orderOf(const Json& one, const std::string& flavor) {
    const int vpp = one.at("vpp").get<int>();
    ScheduleSpec spec{vpp == 1 ? "1f1b" : "interleaved", vpp == 1 ? "" : flavor, one.at("pp").get<int>(),
                      one.at("microbatches").get<int>(), vpp};
    if (vpp > 1 && flavor == "megatron") spec.group_size = one.at("group").get<int>();
    return makeSchedule(spec).value();
}

/// PyTorch's NCCL backend runs batched transfers in the group's communicator, and others in one per pair of ranks,
/// unless it was set up with a device.
CommunicatorKind communicatorsOf(const Json& one) {
    return one.value("transfers", "") == "batched" ? CommunicatorKind::One : CommunicatorKind::Pair;
}

/// Also: with the framework's communicators, no order hangs or pairs wrongly.
void expectEqual(const Json& one, const Result<LoweredSchedule>& lowered, CommunicatorKind kind) {
    const std::string where = one.value("transfers", "") + " " + std::to_string(one.at("pp").get<int>()) + " " +
                              std::to_string(one.at("microbatches").get<int>()) + " " +
                              std::to_string(one.at("vpp").get<int>());
    ASSERT_TRUE(lowered.ok()) << where << ": " << lowered.error().text();
    const Json& lists = one.at("lists");
    ASSERT_EQ(lowered.value().actions.size(), lists.size());
    for (std::size_t r = 0; r < lists.size(); ++r)
        EXPECT_EQ(actionCells(lowered.value(), Rank{r}), lists[r].get<std::vector<std::string>>()) << where << " " << r;
    EXPECT_TRUE(checkActions(lowered.value()).empty()) << where;
    EXPECT_FALSE(hangVerdict(lowered.value(), {{kind, {}}, 0, false}).hangs()) << where;
}

TEST(LoweringOracle, MegatronCore) {
    int compared = 0;
    for (const Json& one : test::oracleDocument("lowering/megatron.json").at("cases")) {
        const auto name = one.at("transfers").get<std::string>();
        const auto transfers = name == "batched"      ? MegatronTransfers::Batched
                               : name == "separate"   ? MegatronTransfers::Separate
                               : name == "overlapped" ? MegatronTransfers::Overlapped
                                                      : MegatronTransfers::OverlappedFlush;
        // Batched interleaved transfers of two ranks are paired wrongly: see below.
        const bool wrong = name == "batched" && one.at("pp") == 2 && one.at("vpp") > 1;
        // Without batches, two ranks have one communicator per direction.
        const auto kind = wrong                                    ? CommunicatorKind::Tag
                          : name != "batched" && one.at("pp") == 2 ? CommunicatorKind::Edge
                                                                   : communicatorsOf(one);
        expectEqual(one, lowerAsMegatron(orderOf(one, "megatron"), transfers), kind);
        ++compared;
    }
    EXPECT_EQ(compared, 48);
}

/// Megatron-core refuses two ranks without overlap: with two ranks, both neighbours are the same rank, and its order in
/// a batch (previous before next) is not that of the other rank.
TEST(LoweringOracle, BatchesOfTwoInterleavedRanksArePairedWrongly) {
    const auto lowered =
        lowerAsMegatron(makeSchedule({"interleaved", "megatron", 2, 4, 2}).value(), MegatronTransfers::Batched).value();
    EXPECT_FALSE(wrongPairings(lowered, {CommunicatorKind::One, {}}).empty());
}

TEST(LoweringOracle, DeepSpeed) {
    int compared = 0;
    for (const Json& one : test::oracleDocument("lowering/deepspeed.json").at("cases")) {
        expectEqual(one, lowerAsDeepSpeed(orderOf(one, "")), communicatorsOf(one));
        ++compared;
    }
    EXPECT_EQ(compared, 9);
}

TEST(LoweringOracle, Paddle) {
    int compared = 0;
    for (const Json& one : test::oracleDocument("lowering/paddle.json").at("cases")) {
        expectEqual(one, lowerAsPaddle(orderOf(one, "paddle-dynamic"), one.at("transfers") == "overlapped"),
                    communicatorsOf(one));
        ++compared;
    }
    EXPECT_EQ(compared, 20);
}

} // namespace
} // namespace bubblescope
