#include "core/live/live_analyzer.h"
#include "core/live/segment_follower.h"
#include "core/live/stream_receiver.h"
#include "core/live/stream_sender.h"
#include "profiler/capture/capture_writer.h"
#include "tests/support/recorded_job.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/live/recorded_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace bubblescope::live {
namespace {

using namespace std::chrono_literals;

using test::RecordedJob;
constexpr int kRanks = RecordedJob::kRanks;
constexpr TimeNs kUnit = RecordedJob::kUnit;

/// Feeds the data that the processes wrote since the last call.
class Watched {
public:
    explicit Watched(RecordedJob& job) : job_(job) {
        for (Stream& stream : streams_)
            stream.number = analyzer.open();
    }
    void feed(int rank) {
        Stream& stream = streams_[static_cast<std::size_t>(rank)];
        const std::string all = job_.bytes(rank);
        analyzer.feed(stream.number, std::string_view(all).substr(stream.fed), now);
        stream.fed = all.size();
    }
    void gone(int rank) { analyzer.gone(streams_[static_cast<std::size_t>(rank)].number, "it was killed"); }
    std::vector<LiveEvent> look(CapturedRun& run) {
        run.look(analyzer, now);
        return analyzer.advance(now);
    }
    RankState state(int rank) const { return analyzer.ranks()[static_cast<std::size_t>(rank)].state; }

    LiveAnalyzer analyzer;
    TimeNs now{1h};

private:
    struct Stream {
        LiveAnalyzer::Stream number = 0;
        std::size_t fed = 0;
    };
    RecordedJob& job_;
    std::array<Stream, kRanks> streams_;
};

TEST(CapturedLive, SaysHowTheRanksOfARecordedJobAreAndWhatTheyLost) {
    const test::ScratchFolder scratch;
    RecordedJob job(scratch.path());
    Watched watched(job);
    CapturedRun run({scratch.path()}, 10s);
    for (int rank = 0; rank < kRanks; ++rank) {
        for (int step = 0; step < 3; ++step)
            job.write(rank, step);
        watched.feed(rank);
    }
    (void)watched.look(run);
    ASSERT_TRUE(watched.analyzer.info()) << run.problem();
    EXPECT_EQ(watched.analyzer.info()->schedule, "1f1b");
    ASSERT_EQ(watched.analyzer.ranks().size(), 2U);
    EXPECT_EQ(watched.analyzer.counts().steps, 2) << "the last may go on";
    for (int rank = 0; rank < kRanks; ++rank) {
        EXPECT_EQ(watched.state(rank), RankState::Running);
        EXPECT_EQ(watched.analyzer.ranks()[static_cast<std::size_t>(rank)].pid, 100 + rank);
    }
    job.writer(0).counts().lost_in_rings += 5;
    job.writer(0).counts().parts_removed += 3;
    job.end(0, 3);
    watched.feed(0);
    const std::vector<LiveEvent> events = watched.look(run);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind, LiveEvent::Kind::RankChanged);
    EXPECT_EQ(events[0].rank.rank, Rank{0});
    EXPECT_EQ(events[0].rank.state, RankState::Ended);
    EXPECT_EQ(events[0].rank.dropped, 5) << "parts go because they were told to";
    EXPECT_EQ(watched.analyzer.counts().dropped, 5);
    EXPECT_FALSE(watched.analyzer.runEnded());

    watched.gone(1);
    const std::vector<LiveEvent> last = watched.look(run); // nothing is waited for: all are over
    EXPECT_EQ(watched.state(1), RankState::Gone);
    EXPECT_EQ(watched.analyzer.ranks()[1].reason, "it was killed");
    EXPECT_EQ(watched.state(0), RankState::Ended);
    EXPECT_EQ(watched.analyzer.counts().steps, 3);
    ASSERT_FALSE(last.empty());
    EXPECT_EQ(last.back().kind, LiveEvent::Kind::RunEnded);
    EXPECT_EQ(last.back().step, 2);
    EXPECT_TRUE(watched.analyzer.runEnded());
    watched.gone(0);
    (void)watched.look(run);
    EXPECT_EQ(watched.state(0), RankState::Ended) << "who said that it ended may go";
}

TEST(CapturedLive, ARankThatIsSilentWhileOthersGoOnIsLate) {
    const test::ScratchFolder scratch;
    RecordedJob job(scratch.path());
    Watched watched(job);
    CapturedRun run({scratch.path()}, 10s); // as the analyzer has it
    for (int rank = 0; rank < kRanks; ++rank) {
        job.write(rank, 0);
        job.write(rank, 1);
        watched.feed(rank);
    }
    (void)watched.look(run);
    ASSERT_TRUE(watched.analyzer.info()) << run.problem();
    watched.now += 1min; // all are silent: who is at fault does not show
    (void)watched.analyzer.advance(watched.now);
    EXPECT_EQ(watched.state(0), RankState::Running);
    job.write(1, 2);
    watched.feed(1);
    (void)watched.analyzer.advance(watched.now);
    EXPECT_EQ(watched.state(0), RankState::Late);
    EXPECT_THAT(watched.analyzer.ranks()[0].reason, testing::HasSubstr("no records for"));
    EXPECT_EQ(watched.state(1), RankState::Running);
    job.write(0, 2);
    watched.feed(0);
    (void)watched.analyzer.advance(watched.now);
    EXPECT_EQ(watched.state(0), RankState::Running);
    EXPECT_EQ(watched.analyzer.ranks()[0].reason, "");
}

TEST(CapturedLive, WhereAllStandTheRankThatWaitsForNothingIsLate) {
    const test::ScratchFolder scratch;
    RecordedJob job(scratch.path());
    Watched watched(job);
    CapturedRun run({scratch.path()}, 10s);
    constexpr int kStepsASecond = static_cast<int>(TimeNs(1s) / (RecordedJob::kStep * kUnit));
    for (int rank = 0; rank < kRanks; ++rank) {
        job.write(rank, 0);
        job.write(rank, 1);
        profiler::HostRecord range; // of the domain in which frameworks state their ops
        range.type = profiler::HostRecord::Type::Push;
        range.domain = profiler::nvtx::Names::kPipelineDomain;
        range.text = rank == 0 ? "0F2" : "1RECV_F2";
        range.ticks = (2 * RecordedJob::kStep * kUnit).count();
        job.writer(rank).take(7, range, false);
        job.flush(rank, 2);
        watched.feed(rank);
    }
    (void)watched.look(run);
    ASSERT_TRUE(watched.analyzer.info()) << run.problem();
    const auto stand = [&](int seconds) {
        watched.now += std::chrono::seconds(3);
        for (int rank = 0; rank < kRanks; ++rank) {
            job.flush(rank, seconds * kStepsASecond);
            watched.feed(rank);
        }
        (void)watched.analyzer.advance(watched.now);
    };
    stand(3);
    EXPECT_EQ(watched.state(0), RankState::Running) << "not for long yet";
    stand(6);
    EXPECT_EQ(watched.state(0), RankState::Late);
    EXPECT_THAT(watched.analyzer.ranks()[0].reason, testing::HasSubstr("the process has been in 0F2"));
    EXPECT_EQ(watched.state(1), RankState::Running) << "it waits for rank 0";
    job.write(0, 6 * kStepsASecond + 1);
    watched.now += 1s;
    watched.feed(0);
    (void)watched.analyzer.advance(watched.now);
    EXPECT_EQ(watched.state(0), RankState::Running);
}

std::size_t tracesIn(const std::filesystem::path& dir) {
    if (!std::filesystem::exists(dir)) return 0;
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir))
        count += entry.path().extension() == ".pftrace" ? 1 : 0;
    return count;
}

/// A collector that keeps what arrives, and one machine that sends a folder.
class Collecting {
public:
    explicit Collecting(const std::filesystem::path& dir) : run({keep.path()}, 10s) {
        StreamReceiver::Options options{{"127.0.0.1", 0}, "secret", "clock", {}};
        options.keep = keep.path();
        auto opened = StreamReceiver::open(std::move(options));
        EXPECT_TRUE(opened.ok()) << opened.error().text();
        receiver = std::make_unique<StreamReceiver>(std::move(opened).value());
        StreamSender::Options sends{receiver->address(), "secret", "node", "boot", {}};
        sends.only_own = true;
        sender = std::make_unique<StreamSender>(std::move(sends));
        follower = std::make_unique<SegmentFollower>(SegmentFollower::open({dir}).value());
    }
    template <class Enough>
    void turnUntil(const Enough& enough) {
        for (int i = 0; i < 200'000 && !enough(); ++i) {
            now += 1ms;
            (void)follower->read(*sender, now);
            EXPECT_TRUE(sender->poll(now).ok());
            receiver->poll(analyzer, now);
            run.look(analyzer, now);
            (void)analyzer.advance(now);
        }
        EXPECT_TRUE(enough());
    }

    test::ScratchFolder keep;
    LiveAnalyzer analyzer;
    CapturedRun run;
    std::unique_ptr<StreamReceiver> receiver;
    std::unique_ptr<StreamSender> sender;
    std::unique_ptr<SegmentFollower> follower;
    TimeNs now{1h};
};

TEST(CapturedLive, ARecordedJobIsWatchedOverTheNetwork) {
    const test::ScratchFolder scratch;
    RecordedJob job(scratch.path());
    Collecting collecting(scratch.path());
    const auto write = [&](int from, int to) {
        for (int step = from; step < to; ++step) {
            for (int rank = 0; rank < kRanks; ++rank)
                job.write(rank, step);
        }
    };
    write(0, 3);
    collecting.turnUntil([&] { return collecting.analyzer.counts().steps >= 2; });
    EXPECT_FALSE(collecting.sender->done()) << "it goes on";
    write(3, 5);
    for (int rank = 0; rank < kRanks; ++rank)
        job.end(rank, 5);
    collecting.turnUntil([&] { return collecting.analyzer.runEnded() && collecting.sender->done(); });
    EXPECT_EQ(collecting.analyzer.counts().steps, 5);
    EXPECT_EQ(collecting.analyzer.counts().incomplete, 0);
    for (const LiveStep& step : collecting.analyzer.steps()) {
        EXPECT_EQ(step.wall, 9 * kUnit);
        EXPECT_EQ(step.busy, 2 * 6 * kUnit);
    }
    for (const LiveRank& rank : collecting.analyzer.ranks())
        EXPECT_EQ(rank.state, RankState::Ended);
    for (int rank = 0; rank < kRanks; ++rank) {
        const std::string name = "rank" + std::to_string(rank) + ".pid" + std::to_string(100 + rank) + ".pftrace";
        const auto kept = collecting.keep.path() / "node" / scratch.path().filename() / name;
        EXPECT_EQ(test::readAll(kept), job.bytes(rank)) << "what arrives is what was recorded";
    }
    EXPECT_EQ(collecting.receiver->storeProblem(), "");
}

TEST(CapturedLive, WhatCannotBeStoredIsNotAcknowledgedAndSentAgain) {
    const test::ScratchFolder scratch;
    RecordedJob job(scratch.path());
    constexpr int kSteps = 700; // more than one message
    Collecting collecting(scratch.path());
    const auto node = collecting.keep.path() / "node";
    std::ofstream(node) << "in the way of the sender's folder";
    for (int step = 0; step < kSteps; ++step) {
        for (int rank = 0; rank < kRanks; ++rank)
            job.write(rank, step);
    }
    for (int rank = 0; rank < kRanks; ++rank)
        job.end(rank, kSteps);
    collecting.turnUntil([&] { return collecting.sender->unkeptSince().has_value(); });
    for (int i = 0; i < 3000; ++i) { // it tries again all the time
        collecting.now += 1ms;
        (void)collecting.follower->read(*collecting.sender, collecting.now);
        EXPECT_TRUE(collecting.sender->poll(collecting.now).ok());
        collecting.receiver->poll(collecting.analyzer, collecting.now);
    }
    EXPECT_FALSE(collecting.sender->done());
    EXPECT_FALSE(collecting.analyzer.capturedEnded()) << "what is not stored is not heard";
    EXPECT_GT(collecting.sender->unacknowledged(), 0U);
    EXPECT_THAT(collecting.sender->problem(), testing::HasSubstr("the monitor cannot store the records"));
    EXPECT_THAT(collecting.sender->problem(), testing::HasSubstr(node.string()));

    std::filesystem::remove(node); // now there is room
    collecting.turnUntil([&] { return collecting.sender->done() && collecting.analyzer.runEnded(); });
    EXPECT_FALSE(collecting.sender->unkeptSince());
    EXPECT_EQ(collecting.sender->problem(), "");
    EXPECT_EQ(collecting.sender->unacknowledged(), 0U);
    EXPECT_EQ(collecting.analyzer.counts().steps, kSteps);
    EXPECT_EQ(collecting.analyzer.counts().duplicates, 0);
    for (int rank = 0; rank < kRanks; ++rank) {
        const std::string name = "rank" + std::to_string(rank) + ".pid" + std::to_string(100 + rank) + ".pftrace";
        EXPECT_EQ(test::readAll(node / scratch.path().filename() / name), job.bytes(rank));
    }
}

TEST(CapturedLive, KeepsTheLastPartsOfATraceAndNoRunOfOurOwn) {
    const test::ScratchFolder scratch;
    RecordedJob job(scratch.path(), 4000); // a part is full with every step or two
    const auto wanted = test::fourRanks(2);
    const auto run = test::makeJitteredRun(wanted, 1);
    const test::RecordedRanks own(test::infoOf(wanted));
    Collecting collecting(scratch.path());
    for (int step = 0; step < 40; ++step) {
        job.write(0, step);
        const std::int64_t slices = 4 * (step + 1);
        collecting.turnUntil([&] { return collecting.analyzer.counts().slices >= slices; });
    }
    EXPECT_GT(job.writer(0).counts().parts_removed, 5);
    EXPECT_LE(tracesIn(collecting.keep.path()), 5U);
    EXPECT_GE(tracesIn(collecting.keep.path()), 4U);
    EXPECT_EQ(collecting.analyzer.counts().torn, 0);

    StreamSender others({collecting.receiver->address(), "secret", "other", "clock", {}});
    SegmentFollower of_others = SegmentFollower::open({own.dir()}).value();
    for (int i = 0; i < 200'000 && !collecting.analyzer.info(); ++i) {
        collecting.now += 1ms;
        (void)of_others.read(others, collecting.now);
        EXPECT_TRUE(others.poll(collecting.now).ok());
        collecting.receiver->poll(collecting.analyzer, collecting.now);
    }
    EXPECT_TRUE(collecting.analyzer.info());
    EXPECT_FALSE(std::filesystem::exists(collecting.keep.path() / "other"));
}

TEST(CapturedLive, FilesOfOtherMachinesAreLeftToThem) {
    const test::ScratchFolder scratch;
    RecordedJob job(scratch.path()); // by the clock "boot"
    job.write(0, 0);
    job.end(0, 1);
    LiveAnalyzer analyzer;
    StreamReceiver receiver = StreamReceiver::open({{"127.0.0.1", 0}, "secret", "clock", {}}).value();
    StreamSender::Options options{receiver.address(), "secret", "elsewhere", "another boot", {}};
    options.only_own = true;
    StreamSender sender(std::move(options));
    SegmentFollower follower = SegmentFollower::open({scratch.path()}).value();
    TimeNs now{0};
    for (int i = 0; i < 2000; ++i) {
        now += 1ms;
        (void)follower.read(sender, now);
        EXPECT_TRUE(sender.poll(now).ok());
        receiver.poll(analyzer, now);
    }
    EXPECT_TRUE(sender.connected());
    EXPECT_EQ(follower.files(), 1U);
    EXPECT_EQ(analyzer.counts().bytes, 0);
}

} // namespace
} // namespace bubblescope::live
