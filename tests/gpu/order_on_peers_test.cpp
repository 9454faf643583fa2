// Orders with their sends and receives on emulated communicators: they stand still exactly where the verdict says so.

#include "tests/gpu/order_on_peers.h"

#include "core/families/registry.h"
#include "core/graph/hang.h"
#include "core/lowering/torch_lowering.h"
#include "core/schedule/schedule_files.h"
#include "tests/support/emulated_peers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

bool finishes(const LoweredSchedule& lowered, CommunicatorKind kind) {
    constexpr int kPolls = 50; // one is enough for what can go on
    EmulatedDevice device(7);
    device.fed_by_others = true;
    EmulatedPeers peers(device);
    std::vector<std::string> ids;
    for (int i = 0; i < lowered.order.pp * lowered.order.pp + 1; ++i)
        ids.push_back(peers.makeId());
    const int ranks = lowered.order.pp;
    std::atomic<int> posted = 0;
    std::atomic<int> done = 0;
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            bool counted = false;
            int polls = 0;
            OrderOnPeers order{lowered, Rank{rank}, {kind, {}}, 64, peers, device, {}, {}};
            order.id_of = [&](std::size_t n) { return ids.at(n); };
            order.gives_up = [&](bool all) {
                if (all && !counted) {
                    counted = true;
                    ++posted;
                }
                std::this_thread::yield();
                return posted == ranks && ++polls > kPolls;
            };
            const bool ended = order.run();
            if (!counted) ++posted;
            if (ended) ++done;
        });
    }
    threads.clear();
    return done == ranks;
}

void expectTheVerdict(const LoweredSchedule& lowered, const std::string& name) {
    for (const CommunicatorKind kind :
         {CommunicatorKind::One, CommunicatorKind::Direction, CommunicatorKind::Edge, CommunicatorKind::Pair}) {
        QueueModel queues;
        queues.communicators.kind = kind;
        EXPECT_EQ(finishes(lowered, kind), !hangVerdict(lowered, queues).hangs())
            << name << ", " << communicatorKindName(kind);
    }
}

TEST(OrderOnPeers, StandsWhereReportedHangsStand) {
    for (const char* const file : {"hang-both-send.csv", "hang-ring.csv"}) {
        const auto lowered = readLoweredFile(std::string(BUBBLESCOPE_EXAMPLES "/") + file);
        ASSERT_TRUE(lowered.ok()) << lowered.error().text();
        expectTheVerdict(lowered.value(), file);
    }
}

TEST(OrderOnPeers, StandsWhereTheVerdictSaysSo) {
    for (const ScheduleSpec& spec : {ScheduleSpec{"1f1b", "", 2, 4, 1}, ScheduleSpec{"interleaved", "", 2, 4, 2},
                                     ScheduleSpec{"zb-v", "", 2, 4, 2}, ScheduleSpec{"looped-bfs", "", 3, 4, 2}}) {
        for (const bool deferred : {false, true}) {
            TorchLowering options;
            options.defer_pp_recv = deferred;
            const auto lowered = lowerAsTorch(makeSchedule(spec).value(), options);
            ASSERT_TRUE(lowered.ok()) << lowered.error().text();
            expectTheVerdict(lowered.value(), spec.name + (deferred ? ", deferred" : ""));
        }
    }
}

} // namespace
} // namespace bubblescope::runtime::test
