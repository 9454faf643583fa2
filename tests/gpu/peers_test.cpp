// The stand-in for NCCL itself: that it holds those who use it to NCCL's rules.

#include "tests/support/emulated_peers.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

/// Two members of one communicator, each with a stream and room for two numbers.
struct Pair {
    Pair() {
        const std::string id = peers.makeId();
        for (int member = 0; member < 2; ++member) {
            ends.push_back({peers.join(id, member, 2, false), device.makeStream(),
                            static_cast<double*>(device.allocate(2 * sizeof(double)))});
            ends.back().numbers[0] = member + 1;
        }
        for (End& end : ends)
            EXPECT_TRUE(end.comm->ready());
    }
    ~Pair() {
        for (End& end : ends)
            device.release(end.numbers);
    }

    struct End {
        std::unique_ptr<PeerComm> comm;
        Accelerator::Stream stream;
        double* numbers; ///< what is sent; what is received
    };

    void send(int member) { ends[at(member)].comm->send(ends[at(member)].numbers, 8, 1 - member, stream(member)); }
    void receive(int member, std::int64_t bytes = 8) {
        ends[at(member)].comm->receive(ends[at(member)].numbers + 1, bytes, 1 - member, stream(member));
    }
    void launch(int member) {
        while (!ends[at(member)].comm->ready()) {
        }
    }
    Accelerator::Stream stream(int member) { return ends[at(member)].stream; }
    static std::size_t at(int member) { return static_cast<std::size_t>(member); }

    EmulatedDevice device{4};
    EmulatedPeers peers{device};
    std::vector<End> ends;
};

TEST(EmulatedPeers, MatchWhatIsGroupedInBothDirections) {
    Pair pair;
    for (const int member : {0, 1}) {
        pair.peers.beginGroup();
        pair.send(member);
        pair.receive(member);
        pair.peers.endGroup();
        pair.launch(member);
    }
    pair.device.finish(pair.stream(0));
    pair.device.finish(pair.stream(1));
    EXPECT_EQ(pair.ends[0].numbers[1], 2.0);
    EXPECT_EQ(pair.ends[1].numbers[1], 1.0);
}

TEST(EmulatedPeers, StandStillWhereOrdersDiffer) {
    Pair pair;
    const auto alone = [&](int member, const auto& queue) {
        pair.peers.beginGroup();
        queue(member);
        pair.peers.endGroup();
        pair.launch(member);
    };
    for (const int member : {0, 1}) { // both send first: neither reaches its receive
        alone(member, [&](int m) { pair.send(m); });
        alone(member, [&](int m) { pair.receive(m); });
    }
    EXPECT_THROW(pair.device.finish(pair.stream(0)), std::logic_error);
    pair.ends[0].comm->abort();
    pair.ends[1].comm->abort();
    pair.device.finish(pair.stream(0));
    pair.device.finish(pair.stream(1));
}

TEST(EmulatedPeers, RefuseWhatNcclLeavesUndefined) {
    Pair pair;
    EXPECT_THROW(pair.send(0), std::logic_error) << "outside a group";
    pair.peers.beginGroup();
    EXPECT_THROW(pair.peers.beginGroup(), std::logic_error);
    pair.send(0);
    EXPECT_THROW(pair.ends[0].comm->send(pair.ends[0].numbers, 8, 1, pair.stream(1)), std::logic_error)
        << "on another stream";
    EXPECT_THROW(pair.ends[0].comm->send(pair.ends[0].numbers, 8, 2, pair.stream(0)), std::logic_error) << "to nobody";
    pair.peers.endGroup();
    pair.peers.beginGroup();
    EXPECT_THROW(pair.send(0), std::logic_error) << "before the call before is through";
    pair.peers.endGroup();
    pair.launch(0);
    pair.peers.beginGroup();
    pair.receive(1, 16);
    pair.peers.endGroup();
    pair.launch(1);
    EXPECT_THROW(pair.device.finish(pair.stream(1)), std::logic_error) << "lengths differ";
    EXPECT_THROW((void)pair.peers.join("id7", 0, 1, false), std::logic_error);
}

TEST(EmulatedPeers, AreReadyWhenAllHaveJoined) {
    EmulatedDevice device(1);
    EmulatedPeers peers(device);
    const std::string id = peers.makeId();
    const auto first = peers.join(id, 0, 2, false);
    EXPECT_FALSE(first->ready());
    EXPECT_THROW((void)peers.join(id, 0, 2, false), std::logic_error);
    const auto second = peers.join(id, 1, 2, false);
    EXPECT_TRUE(first->ready());
    peers.breakAfter(0, "gone");
    EXPECT_THROW((void)second->ready(), std::runtime_error);
}

} // namespace
} // namespace bubblescope::runtime::test
