#include "core/live/segment_follower.h"
#include "core/live/step_assembler.h"
#include "core/live/stream_receiver.h"
#include "core/live/stream_sender.h"
#include "tests/unit/live/recorded_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
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
    net::Frame unknown;
    unknown.kind = static_cast<net::Frame::Kind>(99);
    net::FrameReader of_another_version;
    of_another_version.feed(encode(unknown));
    EXPECT_FALSE(of_another_version.next().ok());
}

TEST(Frame, AnyDamagedBitIsNoticedAtOnce) {
    net::Frame frame;
    frame.kind = net::Frame::Kind::Data;
    frame.stream = 3;
    frame.offset = 1234567;
    frame.text = "some records";
    const std::string whole = encode(frame);
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        std::string damaged = whole;
        damaged[bit / 8] = static_cast<char>(static_cast<unsigned char>(damaged[bit / 8]) ^ (1U << (bit % 8)));
        net::FrameReader reader;
        reader.feed(damaged);
        EXPECT_FALSE(reader.next().ok()) << "bit " << bit;
    }
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
    /// Until `enough` returns true, or for a very long time.
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

TEST(Network, ASenderThatLeavesBeforeTheEndIsNamedAndItsReturnToo) {
    const auto wanted = fourRanks(2);
    const auto run = test::makeJitteredRun(wanted, 1);
    RecordedRanks ranks(infoOf(wanted));
    for (int rank = 0; rank < 4; ++rank)
        ranks.write(rank, run.steps[0], 0);
    Collected collected;
    const auto news = [&] { return collected.receiver->takeNews(collected.analyzer, collected.now, 5s); };
    {
        StreamSender sender(collected.sender());
        SegmentFollower follower = SegmentFollower::open({ranks.dir()}).value();
        collected.turnUntil(sender, follower, [&] { return collected.analyzer.counts().slices == ranks.records(); });
    }
    EXPECT_TRUE(news().empty());
    for (int i = 0; i < 100; ++i)
        collected.receiver->poll(collected.analyzer, collected.now);
    EXPECT_TRUE(news().empty()) << "it may have lost its connection only";
    collected.now += 6s;
    const auto left = news();
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0].name, "node");
    EXPECT_EQ(left[0].address, "127.0.0.1");
    EXPECT_EQ(left[0].streams, 4U);
    EXPECT_FALSE(left[0].back);
    collected.now += 60s;
    EXPECT_TRUE(news().empty()) << "said once";

    for (int rank = 0; rank < 4; ++rank) {
        ranks.write(rank, run.steps[1], 1);
        ASSERT_TRUE(ranks.writer(rank).appendEnd(0).ok());
    }
    {
        StreamSender sender(collected.sender());
        SegmentFollower follower = SegmentFollower::open({ranks.dir()}).value();
        collected.turnUntil(sender, follower, [&] { return collected.analyzer.runEnded() && sender.done(); });
        const auto back = news();
        ASSERT_EQ(back.size(), 1U);
        EXPECT_TRUE(back[0].back);
    }
    for (int i = 0; i < 100; ++i)
        collected.receiver->poll(collected.analyzer, collected.now);
    collected.now += 6s;
    EXPECT_TRUE(news().empty()) << "who leaves when all has ended is not missed";
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
    EXPECT_EQ(collected.receiver->admission().refused(), 1);
    EXPECT_FALSE(StreamReceiver::open({{"127.0.0.1", 0}, "", "", {}}).ok()) << "there is no collector for all";
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
    for (int i = 0; i < 1100; ++i) {
        net::Connector stranger(collected.receiver->address());
        ASSERT_EQ(stranger.wait(net::Clock::now() + 10s), net::Connector::Stage::Connected);
        strangers.push_back(stranger.take());
        collected.now += 1ms;
        collected.receiver->poll(collected.analyzer, collected.now);
    }
    EXPECT_EQ(collected.receiver->admission().strangers(), 1024U);
    EXPECT_EQ(collected.receiver->admission().evicted(), 1100 - 1024);
    StreamSender sender(collected.sender());
    SegmentFollower follower = SegmentFollower::open({ranks.dir()}).value();
    collected.turnUntil(sender, follower, [&] { return collected.analyzer.runEnded(); });
    EXPECT_LT(collected.now, 10s) << "it did not wait until strangers were given up";
    EXPECT_EQ(collected.analyzer.counts().slices, ranks.records());
}

/// A connection whose bytes the test chooses.
class RawSender {
public:
    /// Answers the challenge with this token, and waits until it is welcome or refused.
    RawSender(Collected& collected, std::string token, const std::string& name = "node") {
        net::Connector connector(collected.receiver->address());
        EXPECT_EQ(connector.wait(net::Clock::now() + 10s), net::Connector::Stage::Connected) << connector.reason();
        socket_ = connector.take();
        net::Applicant applicant(std::move(token), name + "\nclock");
        const std::int64_t refused = collected.receiver->admission().refused();
        // Bytes need real time to arrive; the collector does not see this time.
        for (int i = 0; i < 10'000 && !welcome; ++i) {
            collected.receiver->poll(collected.analyzer, collected.now);
            if (collected.receiver->admission().refused() > refused) break; // its answer is the test's
            for (net::Frame& frame : heard()) {
                welcome = welcome || frame.kind == net::Frame::Kind::Welcome;
                if (frame.kind != net::Frame::Kind::Challenge) continue;
                challenge = std::move(frame);
                say(applicant.answer(challenge).value());
            }
            std::this_thread::sleep_for(1ms);
        }
    }
    void say(const net::Frame& frame) {
        EXPECT_EQ(socket_.write(encode(frame), net::Clock::now() + 10s), net::Socket::Outcome::Done);
    }
    void say(net::Frame::Kind kind, const std::string& text = {}, std::uint32_t stream = 0) {
        net::Frame frame;
        frame.kind = kind;
        frame.text = text;
        frame.stream = stream;
        say(frame);
    }
    /// The data that has arrived since the last call.
    std::vector<net::Frame> heard() {
        std::array<char, 4096> piece{};
        while (!over) {
            const net::Socket::Progress got = socket_.readSome(piece.data(), piece.size());
            over = got.ended;
            if (got.bytes == 0) break;
            frames_.feed({piece.data(), got.bytes});
        }
        std::vector<net::Frame> frames;
        while (auto next = frames_.next().value())
            frames.push_back(*next);
        return frames;
    }
    net::Socket& socket() { return socket_; }
    net::Frame challenge;
    bool over = false;
    bool welcome = false;

private:
    net::Socket socket_;
    net::FrameReader frames_;
};

TEST(Network, WhoGuessesTokensIsAnsweredLate) {
    Collected collected;
    const auto refusedAfter = [&](std::string token) {
        RawSender guess(collected, std::move(token));
        const TimeNs begin = collected.now;
        while (collected.now - begin < 11s) {
            collected.receiver->poll(collected.analyzer, collected.now);
            std::this_thread::sleep_for(1ms);
            for (const net::Frame& frame : guess.heard()) {
                if (frame.kind == net::Frame::Kind::Refused) return collected.now - begin;
            }
            collected.now += 50ms;
        }
        return TimeNs{-1};
    };
    std::vector<TimeNs> after;
    for (int i = 0; i < 10; ++i)
        after.push_back(refusedAfter("guess"));
    EXPECT_EQ(collected.receiver->admission().refused(), 10);
    EXPECT_LT(after[0], 250ms) << "a typing error is told at once";
    EXPECT_GE(after[5], 900ms);
    EXPECT_GE(after[9], 7s);
    EXPECT_LE(after[9], 9s) << "but it is told";
    EXPECT_TRUE(RawSender(collected, "secret").welcome) << "who knows the token does not wait for those who guess";
}

TEST(Network, WhatFollowsAWrongTokenIsNotTaken) {
    Collected collected;
    RawSender guess(collected, "guess");
    guess.say(net::Applicant("secret", "node\nclock").answer(guess.challenge).value());
    guess.say(net::Frame::Kind::Open, "stream");
    std::vector<net::Frame> heard;
    for (int i = 0; i < 2000 && !guess.over; ++i) {
        collected.now += 1ms;
        collected.receiver->poll(collected.analyzer, collected.now);
        for (net::Frame& frame : guess.heard())
            heard.push_back(std::move(frame));
    }
    ASSERT_EQ(heard.size(), 1U);
    EXPECT_EQ(heard[0].kind, net::Frame::Kind::Refused);
    EXPECT_EQ(collected.receiver->admission().refused(), 1);
    EXPECT_EQ(collected.receiver->connections(), 0U);
}

TEST(Network, WhoTakesNoAnswersIsNotHeard) {
    Collected collected;
    RawSender sender(collected, "secret");
    net::Frame ping;
    ping.kind = net::Frame::Kind::Ping;
    std::string pings;
    for (int i = 0; i < 2000; ++i)
        pings += encode(ping);
    std::size_t sent = 0;
    for (int idle = 0; idle < 200;) { // until neither end continues
        const net::Socket::Progress progress =
            sender.socket().writeSome(std::string_view(pings).substr(sent % pings.size()));
        ASSERT_FALSE(progress.ended);
        sent += progress.bytes;
        idle = progress.bytes > 0 ? 0 : idle + 1;
        if (idle > 0) std::this_thread::sleep_for(1ms);
        collected.receiver->poll(collected.analyzer, collected.now);
        ASSERT_LT(sent, std::size_t{1} << 30) << "its answers pile up";
    }
    EXPECT_LT(collected.receiver->mostWaiting(), std::size_t{2} << 20) << "after " << sent << " bytes";
    EXPECT_EQ(collected.receiver->connections(), 1U);
    TimeNs now = collected.now;
    for (int polls = 0; polls < 10 && collected.receiver->connections() > 0; ++polls) // bytes may still be on their way
        collected.receiver->poll(collected.analyzer, now += 61s);
    EXPECT_EQ(collected.receiver->connections(), 0U) << "it is given up";
}

TEST(Network, NamesAndNumbersOfStreamsAreBounded) {
    Collected collected;
    RawSender sender(collected, "secret", std::string(2000, 'n'));
    sender.say(net::Frame::Kind::Open, std::string(100'000, 's'), 1);
    sender.say(net::Frame::Kind::Open, "short", 2);
    std::vector<std::uint32_t> resumed;
    for (int i = 0; i < 2000 && resumed.empty(); ++i) {
        collected.receiver->poll(collected.analyzer, collected.now);
        for (const net::Frame& frame : sender.heard()) {
            if (frame.kind == net::Frame::Kind::Resume) resumed.push_back(frame.stream);
        }
    }
    EXPECT_EQ(resumed, std::vector<std::uint32_t>{2});
    EXPECT_EQ(collected.receiver->unheard(), 1);
}

/// Connections that know the token, and speak by hand.
class Attackers {
public:
    explicit Attackers(StreamReceiver::Options::Limits limits) {
        StreamReceiver::Options options{{"127.0.0.1", 0}, "secret", "clock", {}};
        options.limits = limits;
        receiver.emplace(StreamReceiver::open(std::move(options)).value());
    }
    void send(net::Socket& from, const std::string& bytes) {
        for (std::size_t at = 0; at < bytes.size() && from.isOpen();) {
            const net::Socket::Progress progress = from.writeSome(std::string_view(bytes).substr(at));
            if (progress.ended) return from.close();
            at += progress.bytes;
            turn();
        }
    }
    net::Socket& join(const std::string& name) {
        net::Connector connector(receiver->address());
        while (connector.poll() == net::Connector::Stage::UnderWay)
            turn();
        net::Socket socket = connector.take();
        receiver->poll(analyzer, now);
        net::Applicant applicant("secret", name + "\nclock");
        send(socket, net::encode(applicant.answer(net::readFrame(socket, net::Clock::now() + 10s).value()).value()));
        sockets.push_back(std::move(socket));
        return sockets.back();
    }
    static std::string opening(std::uint32_t number, const std::string& name) {
        net::Frame open;
        open.kind = net::Frame::Kind::Open;
        open.stream = number;
        open.text = name;
        return net::encode(open);
    }
    void turn() {
        now += 1ms;
        receiver->poll(analyzer, now);
        std::array<char, 4096> answers{};
        for (net::Socket& socket : sockets) {
            if (socket.isOpen() && socket.readSome(answers.data(), answers.size()).ended) socket.close();
        }
    }
    void settle() {
        for (int i = 0; i < 100; ++i)
            turn();
    }

    LiveAnalyzer analyzer;
    std::optional<StreamReceiver> receiver;
    std::list<net::Socket> sockets;
    TimeNs now{0};
};

TEST(Network, ConnectionsTogetherHoldABoundedPartOfMessages) {
    constexpr int kConnections = 20;
    Attackers attackers({.held = 4 << 20});
    net::Frame data;
    data.kind = net::Frame::Kind::Data;
    data.text = std::string(net::FrameReader::kLongestText, 'x');
    std::string unended = net::encode(data);
    unended.pop_back();
    for (int i = 0; i < kConnections; ++i)
        attackers.send(attackers.join("n" + std::to_string(i)), unended);
    attackers.settle();
    EXPECT_GE(attackers.receiver->tooLarge(), kConnections - 4);
    EXPECT_LE(attackers.receiver->connections(), 4U);
    // A sender of small messages gets its turn.
    attackers.send(attackers.join("sender"), Attackers::opening(0, "file"));
    attackers.settle();
    EXPECT_TRUE(attackers.sockets.back().isOpen());
    EXPECT_EQ(attackers.receiver->unheard(), 0);
}

TEST(Network, ConnectionsTogetherHaveABoundedNumberOfStreams) {
    constexpr int kStreams = 50;
    Attackers attackers({.streams = 120, .name_bytes = 1000});
    std::string same; // one stream under many numbers
    for (std::uint32_t i = 0; i < kStreams; ++i)
        same += Attackers::opening(i, "one");
    for (int i = 0; i < 4; ++i)
        attackers.send(attackers.join("n"), same);
    attackers.settle();
    EXPECT_EQ(attackers.receiver->unheard(), 4 * kStreams - 120);
    attackers.sockets.clear(); // who leaves makes room
    attackers.settle();
    attackers.send(attackers.join("n"), Attackers::opening(0, "two"));
    attackers.settle();
    EXPECT_EQ(attackers.receiver->unheard(), 4 * kStreams - 120);
    attackers.send(attackers.sockets.back(), Attackers::opening(1, std::string(997, 'x')));
    attackers.settle();
    EXPECT_EQ(attackers.receiver->unheard(), 4 * kStreams - 119) << "the names are too long together";
}

TEST(Network, OthersSendInTheOpenOnlyIfAsked) {
    const Result<StreamReceiver> open = StreamReceiver::open({{"0.0.0.0", 0}, "secret", "clock", {}});
    ASSERT_FALSE(open.ok());
    EXPECT_EQ(open.error().kind, ErrorKind::Usage);
    EXPECT_THAT(open.error().text(), testing::HasSubstr("in transit: insecure"));
    StreamReceiver::Options accepted{{"0.0.0.0", 0}, "secret", "clock", {}};
    accepted.insecure = true;
    EXPECT_TRUE(StreamReceiver::open(std::move(accepted)).ok());
}

std::size_t bytesIn(const std::filesystem::path& folder) {
    std::size_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        bytes += entry.is_regular_file() ? entry.file_size() : 0;
    return bytes;
}

TEST(StreamStore, KeepsNoMoreThanItsQuota) {
    const test::ScratchFolder folder;
    StreamStore store(folder.path(), 1000);
    std::map<std::string, StreamStore::File> files;
    const auto send = [&](const std::string& sender, const std::string& name, std::size_t bytes) {
        return store.feed(files[sender + "/" + name], sender, name, std::string(bytes, 'x'), true).ok();
    };
    const auto end = [&](const std::string& file) { store.end(files[file]); };
    EXPECT_TRUE(send("small", "job/a.pftrace", 100));
    end("small/job/a.pftrace");
    for (const char* const name : {"job/b.pftrace", "job/c.pftrace", "job/d.pftrace"}) {
        EXPECT_TRUE(send("large", name, 300));
        end(std::string("large/") + name);
    }
    EXPECT_EQ(store.bytes(), 1000);
    EXPECT_TRUE(send("large", "job/e.pftrace", 300));
    EXPECT_EQ(bytesIn(folder.path()), 1000U);
    EXPECT_EQ(store.removed(), 300) << "of the sender of most, the oldest";
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "small/job/a.pftrace"));
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "large/job/b.pftrace"));
    EXPECT_EQ(store.problem(), "");

    EXPECT_FALSE(send("large", "job/e.pftrace", 800)); // what is written makes no room for itself
    EXPECT_LE(bytesIn(folder.path()), 1000U);
    EXPECT_THAT(store.problem(), testing::HasSubstr("keep_size"));
}

TEST(StreamStore, ForgetsTheNamesOfWhatIsNoLongerThere) {
    const test::ScratchFolder folder;
    StreamStore store(folder.path(), 1000);
    for (int process = 0; process < 500; ++process) {
        StreamStore::File file;
        const std::string name = "job/rank0.pid" + std::to_string(process) + ".pftrace";
        ASSERT_TRUE(store.feed(file, "sender" + std::to_string(process % 50), name, std::string(100, 'x'), true).ok());
        store.end(file);
    }
    EXPECT_EQ(store.bytes(), 1000);
    EXPECT_EQ(store.processes(), 10U);
}

TEST(StreamStore, BoundsWhatItHoldsOfStreamsThatDoNotSayWhatTheyAre) {
    const test::ScratchFolder folder;
    StreamStore store(folder.path());
    std::vector<StreamStore::File> files(200);
    std::size_t held = 0;
    for (std::size_t i = 0; i < files.size(); ++i) {
        (void)store.feed(files[i], "sender", std::to_string(i), std::string(std::size_t{1} << 20, 'x'), std::nullopt);
        held += files[i].beginning.capacity();
    }
    EXPECT_LE(held, std::size_t{65} << 20);
    EXPECT_NE(store.problem(), "");
}

TEST(StepAssembler, HoldsABoundedNumberOfOpenSteps) {
    RunInfo info;
    info.pp = 1 << 10;
    info.dp = 1 << 6;
    info.tp = info.vpp = info.microbatches = 1;
    ASSERT_TRUE(StepAssembler::sizesCanBe(info));
    StepAssembler assembler(info, {});
    FoundOp op;
    op.kind = OpKind::Forward;
    op.end = TimeNs{1};
    int refused = 0;
    for (int step = 0; step < 1000; ++step) {
        op.step = step;
        refused += assembler.add(op, TimeNs{0}) == StepAssembler::AddResult::Bad ? 1 : 0;
    }
    EXPECT_EQ(assembler.open(), 65U);
    EXPECT_EQ(refused, 1000 - 65) << "and counts what it does not take";
    EXPECT_TRUE(assembler.close(TimeNs{1})) << "those that are too many are closed";
    op.step = 2000;
    EXPECT_NE(assembler.add(op, TimeNs{0}), StepAssembler::AddResult::Bad) << "which makes room";
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
    collected.receiver.reset(); // no collector listens there any more
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
    Collected in_the_open;
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
    EXPECT_THAT(deceived.problem(), testing::HasSubstr("hostname mismatch"));
    EXPECT_FALSE(deceived.connected());

    StreamSender plain(collected.sender());
    for (int i = 0; i < 2000 && plain.problem().empty(); ++i) {
        collected.now += 1ms;
        (void)plain.poll(collected.now);
        collected.receiver->poll(collected.analyzer, collected.now);
    }
    EXPECT_FALSE(plain.connected()) << "who does not encrypt is not heard";

    const auto problemOf = [&](StreamSender::Options with) {
        StreamSender one(std::move(with));
        for (int i = 0; i < 2000 && one.problem().empty(); ++i) {
            collected.now += 1ms;
            (void)one.poll(collected.now);
            collected.receiver->poll(collected.analyzer, collected.now);
            in_the_open.receiver->poll(in_the_open.analyzer, collected.now);
        }
        return one.problem();
    };
    const std::string other = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other -keyout " +
                              scratch.file("other.key") + " -out " + scratch.file("other") + " >/dev/null 2>&1";
    ASSERT_EQ(std::system(other.c_str()), 0);
    options.tls = net::TlsSettings::forConnecting(scratch.file("other"), "127.0.0.1").value();
    EXPECT_THAT(problemOf(options), testing::HasSubstr("its certificate was rejected: self-signed certificate"));
    StreamSender::Options to_the_open = in_the_open.sender();
    to_the_open.tls = net::TlsSettings::forConnecting(scratch.file("certificate"), "127.0.0.1").value();
    EXPECT_NE(problemOf(to_the_open), "");

    EXPECT_FALSE(net::TlsSettings::forListening(scratch.file("none"), scratch.file("key")).ok());
}

} // namespace
} // namespace bubblescope::live
