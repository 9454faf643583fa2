// Orders with their sends and receives on emulated communicators: they hang exactly where the verdict says so.

#include "tests/gpu/order_on_peers.h"

#include "core/families/registry.h"
#include "core/graph/hang.h"
#include "core/lowering/torch_lowering.h"
#include "core/schedule/schedule_files.h"
#include "tests/support/emulated_peers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

bool finishes(const LoweredSchedule& lowered, CommunicatorKind kind) {
    EmulatedDevice device(7);
    EmulatedPeers peers(device);
    const int ranks = lowered.order.pp;
    std::vector<std::string> ids;
    for (int i = 0; i < ranks * ranks; ++i)
        ids.push_back(peers.makeId());
    std::barrier posted(ranks);
    std::barrier tried(ranks); // aborting a rank releases transfers that others wait for
    std::atomic<int> done = 0;
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            bool first = true;
            OrderOnPeers order{lowered, Rank{rank}, {kind, {}}, 64, peers, device, {}, {}, {}};
            order.id_of = [&](std::size_t n) { return ids.at(n); };
            order.stops = [] {
                std::this_thread::yield();
                return false;
            };
            order.await = [&](Accelerator::Event event) {
                if (std::exchange(first, false)) posted.arrive_and_wait();
                try {
                    device.finish(event);
                } catch (const std::logic_error&) { // nothing on the device can continue
                    tried.arrive_and_wait();
                    return false;
                }
                return true;
            };
            if (!order.run()) return;
            ++done;
            tried.arrive_and_wait();
        });
    }
    threads.clear();
    return done == ranks;
}

/// Returns the number of comparisons.
int expectTheVerdict(const LoweredSchedule& lowered, const std::string& name) {
    int compared = 0;
    for (const CommunicatorKind kind :
         {CommunicatorKind::One, CommunicatorKind::Direction, CommunicatorKind::Edge, CommunicatorKind::Pair}) {
        QueueModel queues;
        queues.communicators.kind = kind;
        if (!wrongPairings(lowered, queues.communicators).empty()) continue; // those pass, with the wrong data
        ++compared;
        EXPECT_EQ(finishes(lowered, kind), !hangVerdict(lowered, queues).hangs())
            << name << ", " << communicatorKindName(kind);
    }
    return compared;
}

TEST(OrderOnPeers, HangsWhereReported) {
    for (const char* const file : {"hang-both-send.csv", "hang-ring.csv"}) {
        const auto lowered = readLoweredFile(std::string(BUBBLESCOPE_EXAMPLES "/") + file);
        ASSERT_TRUE(lowered.ok()) << lowered.error().text();
        EXPECT_GT(expectTheVerdict(lowered.value(), file), 2) << file;
    }
}

TEST(OrderOnPeers, HangsWhereTheVerdictSaysSo) {
    int compared = 0;
    for (const ScheduleSpec& spec : {ScheduleSpec{"1f1b", "", 2, 4, 1}, ScheduleSpec{"interleaved", "", 2, 4, 2},
                                     ScheduleSpec{"zb-v", "", 2, 4, 2}, ScheduleSpec{"looped-bfs", "", 3, 4, 2}}) {
        for (const bool deferred : {false, true}) {
            TorchLowering options;
            options.defer_pp_recv = deferred;
            const auto lowered = lowerAsTorch(makeSchedule(spec).value(), options);
            ASSERT_TRUE(lowered.ok()) << lowered.error().text();
            compared += expectTheVerdict(lowered.value(), spec.name + (deferred ? ", deferred" : ""));
        }
    }
    EXPECT_GT(compared, 20);
}

} // namespace
} // namespace bubblescope::runtime::test
