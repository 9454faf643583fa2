#include "core/live/segment_follower.h"
#include "core/live/stream_receiver.h"
#include "core/live/stream_sender.h"
#include "tests/unit/live/recorded_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <vector>

namespace bubblescope::live {
namespace {

using namespace std::chrono_literals;
using test::fourRanks;
using test::infoOf;
using test::RecordedRanks;

TEST(Frame, TravelsInAnyPieces) {
    net::Frame frame;
    frame.kind = net::Frame::Kind::Data;
    frame.stream = 7;
    frame.offset = 1ULL << 40U;
    frame.times = {TimeNs{-1}, TimeNs{2}, TimeNs{3}};
    frame.text = std::string("with\0zeros", 10);
    const std::string bytes = encode(frame) + encode(net::Frame{});
    net::FrameReader reader;
    std::vector<net::Frame> got;
    for (const char byte : bytes) {
        reader.feed({&byte, 1});
        while (auto next = reader.next().value())
            got.push_back(*next);
    }
    ASSERT_EQ(got.size(), 2U);
    EXPECT_EQ(got[0].kind, net::Frame::Kind::Data);
    EXPECT_EQ(got[0].stream, 7U);
    EXPECT_EQ(got[0].offset, frame.offset);
    EXPECT_EQ(got[0].times, frame.times);
    EXPECT_EQ(got[0].text, frame.text);
}

TEST(Frame, WhatIsNoneEndsTheConnection) {
    net::FrameReader long_one;
    long_one.feed("\xff\xff\xff\xff");
    EXPECT_FALSE(long_one.next().ok());
    std::string unknown = encode(net::Frame{});
    unknown[4] = 99;
    net::FrameReader of_another_version;
    of_another_version.feed(unknown);
    EXPECT_FALSE(of_another_version.next().ok());
    EXPECT_TRUE(net::equalSecrets("a", "a"));
    EXPECT_FALSE(net::equalSecrets("a", "ab"));
    EXPECT_FALSE(net::equalSecrets("a", ""));
}

/// A collector, and senders that read one folder.
class Collected {
public:
    explicit Collected(std::optional<net::TlsSettings> tls = {}) {
        Result<StreamReceiver> opened = StreamReceiver::open({{"127.0.0.1", 0}, "secret", "clock", std::move(tls)});
        EXPECT_TRUE(opened.ok()) << opened.error().text();
        receiver.emplace(std::move(opened).value());
    }
    StreamSender::Options sender(const std::string& token = "secret") const {
        return {receiver->address(), token, "node", "clock", {}};
    }
    /// Until `enough` says so, or for very long.
    template <class Enough>
    void turnUntil(StreamSender& sender, SegmentFollower& follower, const Enough& enough) {
        for (int i = 0; i < 200'000 && !enough(); ++i) {
            now += 1ms;
            (void)follower.read(sender, now);
            status = sender.poll(now);
            receiver->poll(analyzer, now);
            (void)analyzer.advance(now);
        }
        EXPECT_TRUE(enough());
    }

    LiveAnalyzer analyzer;
    std::optional<StreamReceiver> receiver;
    TimeNs now{0};
    Status status;
};

TEST(Network, WhatIsSentArrivesOnceThoughTheConnectionBreaks) {
    const auto wanted = fourRanks(12);
    const auto run = test::makeJitteredRun(wanted, 1);
    RecordedRanks ranks(infoOf(wanted), {20'000, 0});
    Collected collected;
    const auto writeSteps = [&](int from, int to) {
        for (int step = from; step < to; ++step) {
            for (int rank = 0; rank < 4; ++rank)
                ranks.write(rank, run.steps[static_cast<std::size_t>(step)], step);
        }
    };
    writeSteps(0, 4);
    {
        StreamSender sender(collected.sender());
        SegmentFollower follower = SegmentFollower::open({ranks.dir()}).value();
        collected.turnUntil(sender, follower, [&] { return collected.analyzer.counts().slices > 100; });
    } // the sender dies in the middle of it
    writeSteps(4, 12);
    for (int rank = 0; rank < 4; ++rank)
        ASSERT_TRUE(ranks.writer(rank).appendEnd(0).ok());
    StreamSender sender(collected.sender());
    SegmentFollower follower = SegmentFollower::open({ranks.dir()}).value();
    collected.turnUntil(sender, follower, [&] { return collected.analyzer.runEnded(); });
    EXPECT_EQ(collected.analyzer.counts().slices, ranks.records());
    EXPECT_EQ(collected.analyzer.counts().undelivered, 0);
    EXPECT_EQ(collected.analyzer.counts().duplicates, 0);
    EXPECT_EQ(collected.analyzer.counts().torn, 0);
    EXPECT_EQ(collected.analyzer.counts().steps, 12);
    EXPECT_EQ(collected.analyzer.counts().incomplete, 0);
    EXPECT_TRUE(sender.connected());
}

TEST(Network, NobodyIsServedWithoutTheToken) {
    const auto wanted = fourRanks(1);
    RecordedRanks ranks(infoOf(wanted));
    Collected collected;
    StreamSender sender(collected.sender("guessed"));
    SegmentFollower follower = SegmentFollower::open({ranks.dir()}).value();
    collected.turnUntil(sender, follower, [&] { return !collected.status.ok(); });
    EXPECT_EQ(collected.status.error().kind, ErrorKind::Run);
    EXPECT_THAT(collected.status.error().text(), testing::HasSubstr("token"));
    EXPECT_EQ(collected.analyzer.counts().bytes, 0);
    EXPECT_EQ(collected.receiver->refused(), 1);
    EXPECT_FALSE(StreamReceiver::open({{"127.0.0.1", 0}, "", "", {}}).ok()) << "there is no collector for all";
}

TEST(Network, StrangersDoNotDisturb) {
    Collected collected;
    net::Connector stranger(collected.receiver->address());
    ASSERT_EQ(stranger.wait(net::Clock::now() + 10s), net::Connector::Stage::Connected);
    for (int i = 0; i < 100; ++i)
        collected.receiver->poll(collected.analyzer, TimeNs{i});
    EXPECT_EQ(collected.receiver->connections(), 1U);
    collected.receiver->poll(collected.analyzer, 11s);
    EXPECT_EQ(collected.receiver->connections(), 0U) << "who says nothing is not waited for";
}

TEST(Network, ManyStrangersMakeRoomForASender) {
    const auto wanted = fourRanks(1);
    const auto run = test::makeJitteredRun(wanted, 2);
    RecordedRanks ranks(infoOf(wanted));
    for (int rank = 0; rank < 4; ++rank) {
        ranks.write(rank, run.steps[0], 0);
        ASSERT_TRUE(ranks.writer(rank).appendEnd(0).ok());
    }
    Collected collected;
    std::vector<net::Socket> strangers;
    for (int i = 0; i < 300; ++i) {
        net::Connector stranger(collected.receiver->address());
        ASSERT_EQ(stranger.wait(net::Clock::now() + 10s), net::Connector::Stage::Connected);
        strangers.push_back(stranger.take());
        collected.receiver->poll(collected.analyzer, collected.now);
    }
    EXPECT_EQ(collected.receiver->connections(), 256U);
    StreamSender sender(collected.sender());
    SegmentFollower follower = SegmentFollower::open({ranks.dir()}).value();
    collected.turnUntil(sender, follower, [&] { return collected.analyzer.runEnded(); });
    EXPECT_LT(collected.now, 10s) << "it did not wait until strangers were given up";
    EXPECT_EQ(collected.analyzer.counts().slices, ranks.records());
}

TEST(Network, ASenderWaitsForACollectorThatIsNotThereYet) {
    const auto wanted = fourRanks(2);
    const auto run = test::makeJitteredRun(wanted, 2);
    RecordedRanks ranks(infoOf(wanted));
    for (int rank = 0; rank < 4; ++rank) {
        ranks.write(rank, run.steps[0], 0);
        ranks.write(rank, run.steps[1], 1);
        ASSERT_TRUE(ranks.writer(rank).appendEnd(0).ok());
    }
    Collected collected;
    auto options = collected.sender();
    const net::Address address = options.address;
    collected.receiver.reset(); // nobody listens there any more
    StreamSender sender(options);
    SegmentFollower follower = SegmentFollower::open({ranks.dir()}).value();
    for (int i = 0; i < 3000; ++i) {
        collected.now += 1ms;
        (void)follower.read(sender, collected.now);
        EXPECT_TRUE(sender.poll(collected.now).ok()) << "it may come";
    }
    EXPECT_NE(sender.problem(), "");
    collected.receiver.emplace(StreamReceiver::open({address, "secret", "clock", {}}).value());
    collected.turnUntil(sender, follower, [&] { return collected.analyzer.runEnded(); });
    EXPECT_EQ(collected.analyzer.counts().slices, ranks.records());
}

TEST(Network, MeasuresHowClocksDiffer) {
    const auto wanted = fourRanks(1);
    RecordedRanks ranks(infoOf(wanted));
    Collected collected;
    auto options = collected.sender();
    options.clock = "the node's clock";
    StreamSender sender(options);
    SegmentFollower follower = SegmentFollower::open({ranks.dir()}).value();
    collected.turnUntil(sender, follower, [&] { return collected.analyzer.clocks().pings() >= 8; });
}

TEST(Network, IsEncryptedWhereThereIsACertificate) {
    const test::ScratchFolder scratch;
    const std::string command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext "
                                "subjectAltName=IP:127.0.0.1 -keyout " +
                                scratch.file("key") + " -out " + scratch.file("certificate") + " >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) GTEST_SKIP() << "no openssl to make a certificate with";
    const auto listening = net::TlsSettings::forListening(scratch.file("certificate"), scratch.file("key"));
    if (!listening.ok() && listening.error().kind == ErrorKind::Usage) GTEST_SKIP() << listening.error().text();
    ASSERT_TRUE(listening.ok()) << listening.error().text();

    const auto wanted = fourRanks(2);
    const auto run = test::makeJitteredRun(wanted, 3);
    RecordedRanks ranks(infoOf(wanted));
    for (int rank = 0; rank < 4; ++rank) {
        ranks.write(rank, run.steps[0], 0);
        ranks.write(rank, run.steps[1], 1);
        ASSERT_TRUE(ranks.writer(rank).appendEnd(0).ok());
    }
    Collected collected(listening.value());
    auto options = collected.sender();
    options.tls = net::TlsSettings::forConnecting(scratch.file("certificate"), "127.0.0.1").value();
    StreamSender sender(options);
    SegmentFollower follower = SegmentFollower::open({ranks.dir()}).value();
    collected.turnUntil(sender, follower, [&] { return collected.analyzer.runEnded(); });
    EXPECT_EQ(collected.analyzer.counts().slices, ranks.records());

    options.tls = net::TlsSettings::forConnecting(scratch.file("certificate"), "another.host").value();
    StreamSender deceived(options);
    for (int i = 0; i < 2000 && deceived.problem().empty(); ++i) {
        collected.now += 1ms;
        (void)deceived.poll(collected.now);
        collected.receiver->poll(collected.analyzer, collected.now);
    }
    EXPECT_THAT(deceived.problem(), testing::HasSubstr("cannot be trusted"));
    EXPECT_FALSE(deceived.connected());

    StreamSender plain(collected.sender());
    for (int i = 0; i < 2000 && plain.problem().empty(); ++i) {
        collected.now += 1ms;
        (void)plain.poll(collected.now);
        collected.receiver->poll(collected.analyzer, collected.now);
    }
    EXPECT_FALSE(plain.connected()) << "who does not encrypt is not heard";

    EXPECT_FALSE(net::TlsSettings::forListening(scratch.file("none"), scratch.file("key")).ok());
}

} // namespace
} // namespace bubblescope::live
