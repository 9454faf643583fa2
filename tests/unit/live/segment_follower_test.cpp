#include "core/live/segment_follower.h"

#include "core/live/live_analyzer.h"
#include "tests/unit/live/recorded_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <limits>
#include <vector>

namespace bubblescope::live {
namespace {

using namespace std::chrono_literals;
using test::fourRanks;
using test::infoOf;
using test::RecordedRanks;

SegmentFollower follow(const std::filesystem::path& folder) {
    Result<SegmentFollower> opened = SegmentFollower::open({folder});
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    return std::move(opened).value();
}

void readAll(SegmentFollower& follower, LiveAnalyzer& analyzer, TimeNs now) {
    while (follower.read(analyzer, now)) {
    }
}

TEST(SegmentFollower, ReadsFilesAsTheyGrow) {
    const auto wanted = fourRanks(3);
    const auto run = test::makeJitteredRun(wanted, 1);
    RecordedRanks ranks(infoOf(wanted));
    LiveAnalyzer analyzer;
    SegmentFollower follower = follow(ranks.dir());
    TimeNs now{0};
    for (int step = 0; step < 3; ++step) {
        for (int rank = 0; rank < 4; ++rank)
            ranks.write(rank, run.steps[static_cast<std::size_t>(step)], step);
        readAll(follower, analyzer, now += 1s);
        EXPECT_EQ(analyzer.counts().slices, ranks.records());
        (void)analyzer.advance(now += 1s);
    }
    EXPECT_EQ(follower.files(), 4U);
    EXPECT_EQ(analyzer.counts().steps, 3);
}

/// Takes few bytes at a time, as a network does, and hands them to an analyzer that holds few steps.
class NarrowTarget final : public StreamTarget {
public:
    Stream open(const std::string& name) override { return opened.emplace_back(analyzer.open(name)); }
    void feed(Stream stream, std::string_view bytes, TimeNs now) override {
        left -= bytes.size();
        analyzer.feed(stream, bytes, now);
        for (const Stream other : opened)
            apart = std::max(apart, stepOf(stream) - stepOf(other));
    }
    std::size_t pending(Stream stream) const override { return analyzer.pending(stream); }
    void dropPending(Stream stream) override { analyzer.dropPending(stream); }
    void restart(Stream stream) override { analyzer.restart(stream); }
    void close(Stream stream) override { analyzer.close(stream); }
    void gone(Stream stream, const std::string& reason) override { analyzer.gone(stream, reason); }
    std::optional<RunStatement> statementOf(Stream stream) const override { return analyzer.statementOf(stream); }
    std::int64_t stepOf(Stream stream) const override { return analyzer.stepOf(stream); }
    std::size_t room(Stream) const override { return std::min<std::size_t>(left, 4096); }

    static LiveOptions holdingFewSteps() {
        LiveOptions options;
        options.assembly.open_steps = 64;
        return options;
    }
    LiveAnalyzer analyzer{holdingFewSteps()};
    std::vector<Stream> opened;
    std::size_t left = 0;
    std::int64_t apart = 0; ///< steps by which a stream was ahead of another, at most
};

TEST(SegmentFollower, ReadsTheStepsOfAllRanksSideBySide) {
    constexpr int kSteps = 400;
    const auto wanted = fourRanks(kSteps);
    const auto run = test::makeJitteredRun(wanted, 1);
    RecordedRanks ranks(infoOf(wanted));
    for (int rank = 0; rank < 4; ++rank) { // those in the middle have more transfers, and larger files
        for (int step = 0; step < kSteps; ++step)
            ranks.write(rank, run.steps[static_cast<std::size_t>(step)], step);
        ASSERT_TRUE(ranks.writer(rank).appendEnd(0).ok());
    }
    NarrowTarget target;
    SegmentFollower follower = follow(ranks.dir());
    TimeNs now{0};
    for (int i = 0; i < 10'000 && !target.analyzer.runEnded(); ++i) {
        target.left = 10'000; // for two of the files
        (void)follower.read(target, now += 1ms);
        (void)target.analyzer.advance(now);
    }
    EXPECT_EQ(target.analyzer.counts().steps, kSteps);
    EXPECT_EQ(target.analyzer.counts().incomplete, 0);
    EXPECT_EQ(target.analyzer.counts().late, 0);
}

TEST(SegmentFollower, ReadsWhatADeadProcessLeftSideBySide) {
    constexpr int kSteps = 400;
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    ProcessInfo host = thisProcess();
    host.pid = child;
    const auto wanted = fourRanks(kSteps);
    const auto run = test::makeJitteredRun(wanted, 1);
    RecordedRanks ranks(infoOf(wanted));
    for (int rank = 0; rank < 4; ++rank) {
        ranks.start(rank, host);
        for (int step = 0; step < kSteps; ++step)
            ranks.write(rank, run.steps[static_cast<std::size_t>(step)], step);
    }
    ASSERT_TRUE(ranks.writer(0).appendEnd(0).ok());
    NarrowTarget target;
    target.left = std::numeric_limits<std::size_t>::max();
    SegmentFollower follower = follow(ranks.dir());
    TimeNs now{0};
    for (bool more = true; more;) {
        more = follower.read(target, now += 1ms);
        (void)target.analyzer.advance(now);
    }
    EXPECT_EQ(target.analyzer.counts().steps, kSteps);
    EXPECT_EQ(target.analyzer.counts().incomplete, 0);
    EXPECT_EQ(target.analyzer.counts().late, 0);
    EXPECT_LT(target.apart, 40) << "each step ahead is held in memory";
    EXPECT_EQ(target.analyzer.ranks()[0].state, RankState::Ended) << "it has said so";
    for (const std::size_t rank : {1U, 2U, 3U})
        EXPECT_EQ(target.analyzer.ranks()[rank].state, RankState::Gone);
}

TEST(SegmentFollower, PassesOverPipes) {
    const test::ScratchFolder folder;
    ASSERT_EQ(::mkfifo((folder.path() / "rank0.pftrace").c_str(), 0600), 0);
    folder.write("rank1.pftrace", "abc");
    LiveAnalyzer analyzer;
    SegmentFollower follower = follow(folder.path());
    readAll(follower, analyzer, TimeNs{0}); // does not wait for a writer
    EXPECT_EQ(follower.files(), 1U);
    EXPECT_EQ(analyzer.counts().bytes, 3);
}

TEST(SegmentFollower, TheKernelTellsOfChanges) {
    const test::ScratchFolder folder;
    LiveAnalyzer analyzer;
    SegmentFollower follower = follow(folder.path());
    readAll(follower, analyzer, TimeNs{0});
    pollfd wait{follower.descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&wait, 1, 0), 0);
    folder.write("rank0.pftrace", "no packet");
    EXPECT_EQ(::poll(&wait, 1, 10'000), 1);
    readAll(follower, analyzer, TimeNs{1});
    EXPECT_EQ(analyzer.counts().bytes, 9);
    EXPECT_EQ(::poll(&wait, 1, 0), 0) << "read() takes what was told";
}

TEST(SegmentFollower, WaitsForAFolder) {
    const test::ScratchFolder folder;
    LiveAnalyzer analyzer;
    SegmentFollower follower = follow(folder.path() / "later" / "still");
    readAll(follower, analyzer, TimeNs{0});
    EXPECT_EQ(follower.files(), 0U);
    folder.write("later/still/node1/rank0.pftrace", "abc");
    readAll(follower, analyzer, 2s);
    EXPECT_EQ(analyzer.counts().bytes, 3);
}

TEST(SegmentFollower, AFullFileGoesOnInTheNext) {
    const auto wanted = fourRanks(12);
    const auto run = test::makeJitteredRun(wanted, 2);
    RecordedRanks ranks(infoOf(wanted), {20'000, 2});
    LiveAnalyzer analyzer;
    SegmentFollower follower = follow(ranks.dir());
    TimeNs now{0};
    for (int step = 0; step < 12; ++step) {
        for (int rank = 0; rank < 4; ++rank)
            ranks.write(rank, run.steps[static_cast<std::size_t>(step)], step);
        readAll(follower, analyzer, now += 2s);
    }
    for (int rank = 0; rank < 4; ++rank)
        ASSERT_TRUE(ranks.writer(rank).appendEnd(0).ok());
    readAll(follower, analyzer, now += 2s);
    (void)analyzer.advance(now);
    EXPECT_EQ(analyzer.counts().slices, ranks.records());
    EXPECT_EQ(analyzer.counts().undelivered, 0);
    EXPECT_EQ(analyzer.counts().steps, 12);
    EXPECT_EQ(analyzer.counts().incomplete, 0);
    EXPECT_TRUE(analyzer.runEnded());
    EXPECT_FALSE(std::filesystem::exists(ranks.dir() / profiler::TraceSegmentWriter::fileName(Rank{0})))
        << "only two are kept";
    EXPECT_LE(follower.files(), 8U);

    JobControl control;
    const auto loaded = loadRun({ranks.dir()}, control);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    EXPECT_EQ(loaded.value().steps.back().index, 11) << "each file can be read alone";
}

TEST(SegmentFollower, ReadsTheFilesOfARankInTheirOrder) {
    const auto wanted = fourRanks(12);
    const auto run = test::makeJitteredRun(wanted, 5);
    RecordedRanks ranks(infoOf(wanted), {2'000, 0});
    for (int rank = 0; rank < 4; ++rank) {
        for (int step = 0; step < 12; ++step)
            ranks.write(rank, run.steps[static_cast<std::size_t>(step)], step);
        ASSERT_TRUE(ranks.writer(rank).appendEnd(0).ok());
    }
    ASSERT_TRUE(std::filesystem::exists(ranks.dir() / profiler::TraceSegmentWriter::fileName(Rank{0}, 11)))
        << "10 is not before 2";
    LiveAnalyzer analyzer;
    SegmentFollower follower = follow(ranks.dir());
    readAll(follower, analyzer, TimeNs{0});
    (void)analyzer.advance(1s);
    EXPECT_EQ(analyzer.counts().slices, ranks.records());
    EXPECT_EQ(analyzer.counts().out_of_order, 0);
    EXPECT_EQ(analyzer.counts().undelivered, 0);
    EXPECT_EQ(analyzer.counts().steps, 12);
    EXPECT_TRUE(analyzer.runEnded());
}

TEST(SegmentFollower, NoticesWhatIsTakenBackAndWhatIsReplaced) {
    const test::ScratchFolder folder;
    const auto wanted = fourRanks(1);
    const auto run = test::makeJitteredRun(wanted, 3);
    RecordedRanks ranks(infoOf(wanted));
    ranks.write(0, run.steps[0], 0);
    const std::string bytes = ranks.news(0);
    LiveAnalyzer analyzer;
    SegmentFollower follower = follow(folder.path());
    const auto file = folder.write("rank0.pftrace", bytes + bytes.substr(0, 9)); // a part of a packet
    readAll(follower, analyzer, TimeNs{0});
    const std::int64_t slices = analyzer.counts().slices;
    EXPECT_GT(slices, 0);
    std::filesystem::resize_file(file, bytes.size());
    readAll(follower, analyzer, TimeNs{1});
    std::ofstream(file, std::ios::binary | std::ios::app) << bytes;
    readAll(follower, analyzer, TimeNs{2});
    EXPECT_EQ(analyzer.counts().slices, 2 * slices);
    EXPECT_EQ(analyzer.counts().torn, 0);

    std::filesystem::remove(file);
    folder.write("rank0.pftrace", bytes);
    readAll(follower, analyzer, 2s);
    EXPECT_EQ(analyzer.counts().slices, 3 * slices);
    std::filesystem::resize_file(file, 0); // the same file, from its beginning on
    readAll(follower, analyzer, 3s);
    std::ofstream(file, std::ios::binary) << bytes;
    readAll(follower, analyzer, 4s);
    EXPECT_EQ(analyzer.counts().slices, 4 * slices);
    EXPECT_EQ(analyzer.counts().torn, 0);
}

TEST(SegmentFollower, TellsThatAProcessIsNoMore) {
    const auto wanted = fourRanks(2);
    const auto run = test::makeJitteredRun(wanted, 4);
    RecordedRanks ranks(infoOf(wanted));
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    ProcessInfo host = thisProcess();
    ranks.start(0, host);
    host.pid = child;
    ranks.start(1, host);
    host.pids = "another container's";
    ranks.start(2, host);
    for (int rank = 0; rank < 4; ++rank)
        ranks.write(rank, run.steps[0], 0);
    LiveAnalyzer analyzer;
    SegmentFollower follower = follow(ranks.dir());
    readAll(follower, analyzer, TimeNs{0});
    (void)analyzer.advance(TimeNs{0});
    ::kill(child, SIGKILL);
    pollfd wait{follower.descriptor(), POLLIN, 0};
    ASSERT_EQ(::poll(&wait, 1, 10'000), 1);
    readAll(follower, analyzer, TimeNs{1});
    const auto events = analyzer.advance(TimeNs{1});
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].rank.rank, Rank{1});
    EXPECT_EQ(events[0].rank.state, RankState::Gone);
    EXPECT_THAT(events[0].rank.reason, testing::HasSubstr("rank1.pftrace"));
    ::waitpid(child, nullptr, 0);
}

} // namespace
} // namespace bubblescope::live
