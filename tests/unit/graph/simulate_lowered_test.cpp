#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/graph/simulate_lowered.h"
#include "core/lowering/torch_lowering.h"
#include "core/schedule/schedule_files.h"

#include <gtest/gtest.h>

#include <numeric>

namespace bubblescope {
namespace {

constexpr TimeNs kUnit{1000};

CostModel costs(TimeNs comm) {
    CostModel model;
    model.times = makeOpTimes(kUnit, 2 * kUnit, {}, {}).value();
    model.comm = comm;
    return model;
}

QueueModel kind(CommunicatorKind of) {
    return {{of, {}}, 0, false};
}

std::vector<Schedule> orders() {
    std::vector<Schedule> all;
    for (const auto& [name, pp, microbatches, vpp] :
         std::vector<std::tuple<std::string, int, int, int>>{{"1f1b", 4, 8, 1},
                                                             {"fthenb", 3, 5, 1},
                                                             {"interleaved", 2, 6, 3},
                                                             {"zb-v", 3, 6, 2},
                                                             {"interleaved-zb", 4, 8, 2},
                                                             {"dualpipev", 2, 6, 2}})
        all.push_back(makeSchedule({name, "", pp, microbatches, vpp}).value());
    return all;
}

/// Eager sends leave when their op ends, as simulate() has it. Large ones also need their receive to be posted, which
/// PyTorch does after other ops.
TEST(SimulateLowered, WithTagsAndEagerSendsEqualsTheSimulationOfTheOrder) {
    for (const Schedule& order : orders()) {
        for (const TimeNs comm : {TimeNs{0}, TimeNs{300}}) {
            CostModel model = costs(comm);
            model.transfers.activation_bytes = model.transfers.gradient_bytes = 100;
            const auto lowered = lowerAsTorch(order, {}).value();
            const auto eager = simulateLowered(lowered, model, {{}, 100, false});
            const auto large = simulateLowered(lowered, model, {{}, 0, false});
            const auto plain = simulate(order, model);
            ASSERT_TRUE(eager.ok() && large.ok() && plain.ok()) << scheduleTitle(order);
            EXPECT_TRUE(eager.value().queues.queued.empty());
            EXPECT_GE(large.value().step.wall(), plain.value().wall());
            for (std::size_t r = 0; r < order.ranks.size(); ++r) {
                const auto& mine = eager.value().step.ranks[r];
                const auto& theirs = plain.value().ranks[r];
                ASSERT_EQ(mine.size(), theirs.size());
                for (std::size_t i = 0; i < mine.size(); ++i) {
                    EXPECT_EQ(mine[i].op, theirs[i].op);
                    EXPECT_EQ(mine[i].start, theirs[i].start) << scheduleTitle(order) << " rank " << r << " op " << i;
                    EXPECT_EQ(mine[i].end, theirs[i].end);
                }
            }
        }
    }
}

TEST(SimulateLowered, QueuesNeverShortenAStep) {
    for (const Schedule& order : orders()) {
        const auto lowered = lowerAsTorch(order, {}).value();
        const auto free = simulateLowered(lowered, costs(TimeNs{700}), kind(CommunicatorKind::Tag)).value();
        for (const CommunicatorKind of : {CommunicatorKind::One, CommunicatorKind::Edge, CommunicatorKind::Direction}) {
            const auto queued = simulateLowered(lowered, costs(TimeNs{700}), kind(of)).value();
            EXPECT_GE(queued.step.wall(), free.step.wall()) << scheduleTitle(order);
            const TimeNs all = std::accumulate(queued.queues.ranks.begin(), queued.queues.ranks.end(), TimeNs{0});
            TimeNs listed{0};
            for (const QueuedTransfer& each : queued.queues.queued)
                listed += each.wait();
            EXPECT_EQ(all, listed);
        }
    }
}

TEST(SimulateLowered, NamesWhatATransferStandsBehind) {
    // Both activations are there at 1 and 2; rank 1 takes the first for 5 before the second can start.
    const auto lowered = loweredFromCsv("0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                                        "1RECV_F0,1RECV_F1,1F0,1F1,1B0,1SEND_B0,1B1,1SEND_B1\n",
                                        "text")
                             .value();
    const auto step = simulateLowered(lowered, costs(5 * kUnit), kind(CommunicatorKind::Edge)).value();
    ASSERT_FALSE(step.queues.queued.empty());
    const QueuedTransfer& first = step.queues.queued.front();
    EXPECT_EQ(first.send, "0SEND_F1");
    EXPECT_EQ(first.behind, "0SEND_F0");
    EXPECT_EQ(first.wait(), 4 * kUnit) << "posted at 2, started at 6";
    EXPECT_EQ(first.communicator, "0→1");
}

TEST(SimulateLowered, PendingReceivesSlowOpsDown) {
    // Rank 0 waits for B0 from 1 to 4, while it runs F1.
    const auto one = loweredFromCsv("0F0,0SEND_F0,0RECV_B0,0F1,0SEND_F1,0B0,0RECV_B1,0B1\n"
                                    "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
                                    "text")
                         .value();
    QueueModel queues = kind(CommunicatorKind::Edge);
    queues.receive_share = 20;
    const StepTimeline slowed = simulateLowered(one, costs(TimeNs{0}), queues).value().step;
    EXPECT_EQ(slowed.ranks[0][1].start, kUnit);
    EXPECT_EQ(slowed.ranks[0][1].end, TimeNs{2250}) << "1000 / 80 %";
    EXPECT_EQ(slowed.ranks[0][2].end, 6 * kUnit) << "B0 overlaps no receive";
    queues.receive_share = 99;
    EXPECT_EQ(simulateLowered(one, costs(TimeNs{0}), queues).value().step.ranks[0][1].end, TimeNs{4000 + 970})
        << "3000 at 1 %, then the remaining 970 at full speed";

    // Rank 1 waits for F1 and F2 from the beginning; they arrive at 2 and 3, while it runs F0 from 1 on.
    const auto two = loweredFromCsv("0F0,0SEND_F0,0F1,0SEND_F1,0F2,0SEND_F2,0RECV_B0,0B0,0RECV_B1,0B1,0RECV_B2,0B2\n"
                                    "1RECV_F0,1RECV_F1,1RECV_F2,1F0,1F1,1F2,1B0,1SEND_B0,1B1,1SEND_B1,1B2,1SEND_B2\n",
                                    "text")
                         .value();
    const auto endOfFirst = [&](CommunicatorKind of, int share) {
        queues = kind(of);
        queues.receive_share = share;
        return simulateLowered(two, costs(TimeNs{0}), queues).value().step.ranks[1][0].end;
    };
    EXPECT_EQ(endOfFirst(CommunicatorKind::Tag, 0), 2 * kUnit);
    EXPECT_EQ(endOfFirst(CommunicatorKind::Tag, 20), TimeNs{2500}) << "600 at 60 %, then 400 at 80 %";
    EXPECT_EQ(endOfFirst(CommunicatorKind::Edge, 20), TimeNs{2250}) << "the second receive is queued behind the first";
    EXPECT_EQ(endOfFirst(CommunicatorKind::Tag, 50), TimeNs{3000 + 490}) << "at least 1 % is left: 10 and 500";
    EXPECT_EQ(endOfFirst(CommunicatorKind::Edge, 33), TimeNs{2493}) << "1000 / 67 % = 1492.5, rounded up";
}

TEST(SimulateLowered, WeightsRunBesideOps) {
    const auto order = makeSchedule({"1f1b", "", 2, 4, 1}).value();
    const auto lowered = lowerAsTorch(order, {}).value();
    const auto at_once = simulateLowered(lowered, costs(TimeNs{0}), {}).value();
    const auto gathered = simulateLowered(lowered, costs(TimeNs{0}), {}, {{3 * kUnit, TimeNs{0}}}).value();
    EXPECT_EQ(gathered.step.ranks[0][0].start, 3 * kUnit) << "the first op waits for its weights";
    EXPECT_LE(gathered.step.ranks[1][0].start, 4 * kUnit) << "rank 1 gathered its own meanwhile";
    EXPECT_EQ(gathered.step.wall(), at_once.step.wall() + 3 * kUnit);
}

TEST(SimulateLowered, EagerSendsDoNotWait) {
    // Both ranks send first. Large payloads hang; small ones do not.
    const auto lowered = loweredFromCsv("0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                                        "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
                                        "text")
                             .value();
    CostModel small = costs(kUnit);
    small.transfers.activation_bytes = small.transfers.gradient_bytes = 100;
    QueueModel queues = kind(CommunicatorKind::One);
    const auto stuck = simulateLowered(lowered, small, queues);
    ASSERT_FALSE(stuck.ok());
    EXPECT_NE(stuck.error().message.find("hangs with payloads of 1 byte or more"), std::string::npos)
        << stuck.error().message;
    queues.eager_bytes = 100;
    EXPECT_TRUE(simulateLowered(lowered, small, queues).ok());
}

} // namespace
} // namespace bubblescope
