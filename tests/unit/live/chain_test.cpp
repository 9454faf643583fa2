#include "core/live/collector_summary.h"
#include "core/live/live_analyzer.h"
#include "core/live/segment_follower.h"
#include "tests/unit/live/recorded_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <tuple>

// Collectors of some replicas each, and one of the whole job that hears only of their steps.
namespace bubblescope::live {
namespace {

using namespace std::chrono_literals;
using test::fourRanks;
using test::fourRanksWithASlowOne;
using test::infoOf;
using test::RecordedRanks;
using test::writeBesideTheNext;

constexpr int kReplicas = 4;

RunInfo fourReplicas() {
    RunInfo info = infoOf(fourRanks(1));
    info.dp = kReplicas;
    return info;
}

/// Rank 1 of replica 2 becomes slow at step 6.
std::vector<Run> replicasWithASlowRank(int steps) {
    std::vector<Run> runs;
    for (int replica = 0; replica < kReplicas; ++replica) {
        test::JitteredRun wanted = fourRanks(steps);
        if (replica == 2)
            wanted.op_factor = [](int step, Rank rank, const Op&) { return step >= 6 && rank == Rank{1} ? 1.6 : 1.0; };
        runs.push_back(test::makeJitteredRun(wanted, static_cast<unsigned>(replica) + 1));
    }
    return runs;
}

/// A collector of some replicas, and the file that it writes of them.
struct Collector {
    Collector(ReplicaRange replicas, const std::filesystem::path& dir, int ranks,
              TimeNs settle = StepAssembler::Limits{}.settle)
        : own(replicas), analyzer([replicas, settle] {
              LiveOptions options;
              options.replicas = replicas;
              options.report_searches = true;
              options.assembly.settle = settle;
              return options;
          }()),
          writer(dir, thisProcess(), {20'000, 3}) {
        for (int rank = 0; rank < ranks; ++rank)
            streams.push_back(analyzer.open());
    }
    void feed(int rank, const std::string& bytes, TimeNs now) {
        if (own.has(rank % kReplicas)) analyzer.feed(streams[static_cast<std::size_t>(rank)], bytes, now);
    }
    void advance(TimeNs now) { ASSERT_TRUE(writer.write(analyzer, analyzer.advance(now), now).ok()); }

    ReplicaRange own;
    LiveAnalyzer analyzer;
    SummaryWriter writer;
    std::vector<LiveAnalyzer::Stream> streams;
};

/// Ranks, one collector of all of them, and two below one of the whole job.
class Chain {
public:
    explicit Chain(int steps) : runs(replicasWithASlowRank(steps)), ranks(fourReplicas()), single(makeSingle()) {
        begin({0, 1});
        begin({2, 3});
    }
    void begin(ReplicaRange replicas) { collectors.emplace_back(replicas, shares.path(), ranks.ranks()); }
    void run(int step) {
        for (int rank = 0; rank < ranks.ranks(); ++rank) {
            const auto replica = static_cast<std::size_t>(rank % kReplicas);
            ranks.write(rank, runs[replica].steps[static_cast<std::size_t>(step)], step);
        }
        hear();
    }
    void hear() {
        for (int rank = 0; rank < ranks.ranks(); ++rank) {
            const std::string news = ranks.news(rank);
            single.feed(single_streams[static_cast<std::size_t>(rank)], news, now);
            for (Collector& collector : collectors)
                collector.feed(rank, news, now);
        }
        advance(200ms);
    }
    void advance(TimeNs time) {
        now += time;
        (void)single.advance(now);
        for (Collector& collector : collectors)
            collector.advance(now);
        while (follower.read(job, now)) {
        }
        const std::vector<LiveEvent> fresh = job.advance(now);
        events.insert(events.end(), fresh.begin(), fresh.end());
    }
    void end() {
        for (int rank = 0; rank < ranks.ranks(); ++rank)
            ASSERT_TRUE(ranks.writer(rank).appendEnd(0).ok());
        hear();
        for (Collector& collector : collectors)
            ASSERT_TRUE(collector.writer.end(collector.analyzer, now).ok());
        advance(0ms);
    }

private:
    LiveAnalyzer makeSingle() { return LiveAnalyzer(); }

public:
    std::vector<Run> runs;
    RecordedRanks ranks;
    test::ScratchFolder shares;
    std::list<Collector> collectors;
    LiveAnalyzer single;
    std::vector<LiveAnalyzer::Stream> single_streams = [this] {
        std::vector<LiveAnalyzer::Stream> streams;
        for (int rank = 0; rank < ranks.ranks(); ++rank)
            streams.push_back(single.open());
        return streams;
    }();
    LiveAnalyzer job;
    SegmentFollower follower = SegmentFollower::open({shares.path()}).value();
    std::vector<LiveEvent> events;
    TimeNs now{0};
};

TEST(Chain, SaysOfTheWholeJobWhatOneCollectorOfAllSays) {
    constexpr int kSteps = 14;
    Chain chain(kSteps);
    for (int step = 0; step < kSteps; ++step)
        chain.run(step);
    chain.end();
    ASSERT_EQ(chain.single.steps().size(), static_cast<std::size_t>(kSteps));
    ASSERT_EQ(chain.job.steps().size(), static_cast<std::size_t>(kSteps));
    for (std::size_t i = 0; i < chain.single.steps().size(); ++i) {
        const LiveStep& one = chain.single.steps()[i];
        const LiveStep& both = chain.job.steps()[i];
        EXPECT_TRUE(both.complete) << both.fault;
        EXPECT_EQ(both.index, one.index);
        EXPECT_EQ(both.wall, one.wall);
        EXPECT_EQ(both.busy, one.busy);
        EXPECT_EQ(both.bubble, one.bubble);
        EXPECT_DOUBLE_EQ(both.bubble_rate, one.bubble_rate);
        ASSERT_TRUE(one.expected_rate && both.expected_rate);
        EXPECT_DOUBLE_EQ(*both.expected_rate, *one.expected_rate);
        EXPECT_EQ(both.expected_bubble, one.expected_bubble);
    }
    ASSERT_FALSE(chain.single.anomalies().empty());
    ASSERT_FALSE(chain.job.anomalies().empty());
    const Anomaly& worst = chain.single.anomalies().front().anomaly;
    const Anomaly& told = chain.job.anomalies().front().anomaly;
    EXPECT_EQ(worst.kind, AnomalyKind::Straggler);
    EXPECT_EQ(identityOf(told), identityOf(worst));
    EXPECT_EQ(told.rank, Rank{1});
    EXPECT_EQ(told.replica, 2);
    EXPECT_FALSE(told.message.empty());
    EXPECT_FALSE(told.evidence.empty());
    const auto found = std::ranges::find_if(chain.events, [](const LiveEvent& event) {
        return event.kind == LiveEvent::Kind::AnomalyFound && event.anomaly->anomaly.kind == AnomalyKind::Straggler;
    });
    ASSERT_NE(found, chain.events.end());
    EXPECT_LE(found->step, 8) << "within three steps";

    EXPECT_TRUE(chain.job.runEnded());
    EXPECT_EQ(chain.job.counts().slices, chain.ranks.records());
    EXPECT_EQ(chain.job.counts().undelivered, 0);
    EXPECT_EQ(chain.job.counts().bad, 0);
    EXPECT_EQ(chain.job.counts().late, 0);
    for (std::size_t place = 0; place < chain.single.ranks().size(); ++place) {
        const LiveRank& one = chain.single.ranks()[place];
        const LiveRank& both = chain.job.ranks()[place];
        EXPECT_EQ(both.state, one.state);
        EXPECT_EQ(both.step, one.step);
        EXPECT_EQ(both.records, one.records);
        EXPECT_EQ(both.busy, one.busy);
        EXPECT_EQ(both.bubble, one.bubble);
        EXPECT_EQ(both.pid, one.pid);
    }
}

TEST(Chain, WhatACollectorDoesNotTellIsUnknownUntilItReturns) {
    Chain chain(6);
    chain.run(0);
    chain.run(1); // which ends the first
    ASSERT_EQ(chain.job.steps().size(), 1U);
    EXPECT_TRUE(chain.job.steps().back().complete);
    chain.collectors.pop_back(); // that of replicas 2 and 3
    chain.run(2);
    ASSERT_EQ(chain.job.steps().size(), 1U) << "it may come";
    chain.advance(21s);
    ASSERT_EQ(chain.job.steps().size(), 3U);
    const LiveStep& step = chain.job.steps().back();
    EXPECT_FALSE(step.complete);
    EXPECT_THAT(step.fault, testing::HasSubstr("replica 2"));
    EXPECT_EQ(step.unknown.size(), 8U);
    EXPECT_GT(step.bubble_rate, 0) << "of those that are known";

    // Begun anew it reads all files from their beginning, and tells of old steps too.
    chain.begin({2, 3});
    for (int rank = 0; rank < chain.ranks.ranks(); ++rank)
        chain.collectors.back().feed(rank, test::readAll(chain.ranks.writer(rank).path()), chain.now);
    chain.advance(200ms);
    chain.run(3);
    chain.run(4);
    ASSERT_GE(chain.job.steps().size(), 4U);
    EXPECT_EQ(chain.job.steps()[3].index, 3);
    EXPECT_TRUE(chain.job.steps()[3].complete) << chain.job.steps()[3].fault;
    EXPECT_EQ(chain.job.counts().late, 0);
    EXPECT_EQ(chain.job.counts().bad, 0);
}

TEST(Chain, ACollectorTakesNothingOfOtherReplicas) {
    LiveOptions options;
    options.replicas = {1, 1};
    LiveAnalyzer analyzer(options);
    RecordedRanks ranks(fourReplicas());
    const auto runs = replicasWithASlowRank(1);
    std::vector<LiveAnalyzer::Stream> streams;
    for (int rank = 0; rank < ranks.ranks(); ++rank) {
        ranks.write(rank, runs[static_cast<std::size_t>(rank % kReplicas)].steps[0], 0);
        ASSERT_TRUE(ranks.writer(rank).appendEnd(0).ok());
        analyzer.feed(analyzer.open(), ranks.news(rank), 0ns);
    }
    (void)analyzer.advance(1s);
    ASSERT_EQ(analyzer.steps().size(), 1U);
    EXPECT_TRUE(analyzer.steps().front().complete);
    EXPECT_TRUE(analyzer.runEnded()) << "nobody else is waited for";
    EXPECT_EQ(analyzer.replicas(), std::pair(1, 1));
}

/// What is to be equal of findings here and there.
std::vector<std::tuple<AnomalyKind, int, int, int>> outlinesOf(const std::vector<LiveAnomaly>& found) {
    std::vector<std::tuple<AnomalyKind, int, int, int>> outlines;
    for (const LiveAnomaly& one : found)
        outlines.emplace_back(one.anomaly.kind, one.anomaly.rank ? one.anomaly.rank->value : -1, one.times,
                              one.last_at);
    return outlines;
}

// Steps that come in quick succession share a search, of which the collector of the job must hear as it is made.
TEST(Chain, HearsOfEachSearchOnceAndAtOnce) {
    constexpr int kOnset = 34;
    const auto wanted = fourRanksWithASlowOne(60, kOnset, 1.5);
    const auto run = test::makeJitteredRun(wanted, 1);
    RecordedRanks ranks(infoOf(wanted));
    test::ScratchFolder shares;
    Collector collector({}, shares.path(), ranks.ranks(), 0s);
    LiveAnalyzer job;
    SegmentFollower follower = SegmentFollower::open({shares.path()}).value();
    TimeNs now{1s};
    std::vector<std::pair<AnomalyKind, int>> found_below;
    std::vector<std::pair<AnomalyKind, int>> found;
    int searches = 0;
    const auto hear = [&] {
        while (follower.read(job, now)) {
        }
        for (const LiveEvent& event : job.advance(now)) {
            if (event.kind == LiveEvent::Kind::AnomalyFound)
                found.emplace_back(event.anomaly->anomaly.kind, event.step);
        }
    };
    const auto after = [&](TimeNs time) {
        now += time;
        for (int rank = 0; rank < ranks.ranks(); ++rank)
            collector.analyzer.feed(collector.streams[static_cast<std::size_t>(rank)], ranks.news(rank), now);
        const std::vector<LiveEvent> events = collector.analyzer.advance(now);
        for (const LiveEvent& event : events) {
            if (event.kind == LiveEvent::Kind::AnomalyFound)
                found_below.emplace_back(event.anomaly->anomaly.kind, event.step);
            searches += event.kind == LiveEvent::Kind::Searched ? 1 : 0;
        }
        ASSERT_TRUE(collector.writer.write(collector.analyzer, events, now).ok());
        hear();
    };
    const auto close = [&](int step) {
        writeBesideTheNext(ranks, run, step);
        after(1ns);
        EXPECT_THAT(outlinesOf(job.found()),
                    testing::UnorderedElementsAreArray(outlinesOf(collector.analyzer.found())));
    };
    const auto lastAt = [&job] {
        const auto slow = std::ranges::find(job.anomalies(), AnomalyKind::Straggler,
                                            [](const LiveAnomaly& one) { return one.anomaly.kind; });
        return slow == job.anomalies().end() ? -1 : slow->last_at;
    };
    const auto lastClosed = [&] { return collector.analyzer.steps().back().index; };
    ranks.write(0, run.steps[0], 0);
    for (int step = 0; step <= 43; ++step)
        close(step);
    EXPECT_LT(searches, 35) << "several steps each";
    EXPECT_FALSE(found.empty());
    if (lastAt() == lastClosed()) close(44);
    ASSERT_LT(lastAt(), lastClosed()) << "some steps are not searched yet";
    after(1s); // in which nothing comes
    EXPECT_EQ(lastAt(), lastClosed()) << "the late search was reported, too";
    const int next = lastClosed() + 1;
    close(next);
    close(next + 1);
    ASSERT_LT(lastAt(), lastClosed());
    ASSERT_TRUE(collector.writer.end(collector.analyzer, now).ok());
    hear();
    EXPECT_EQ(lastAt(), lastClosed()) << "the end concludes";
    EXPECT_THAT(outlinesOf(job.found()), testing::UnorderedElementsAreArray(outlinesOf(collector.analyzer.found())));
    EXPECT_EQ(found, found_below);
}

/// A job of two replicas, of each of which a collector reports what a test makes up.
class MadeUpJob {
public:
    MadeUpJob() {
        info_ = fourReplicas();
        info_.dp = 2;
        for (int replica = 0; replica < 2; ++replica) {
            streams_.push_back(job.open());
            perfetto::Encoder& encoder = encoders_.emplace_back(1);
            encoder.process(1, 1, "replicas", 0);
            encoder.clockSnapshot(0ns, 0ns);
            RunStatement statement;
            statement.info = info_;
            encodeSummary(encoder, 1, 0ns, SummaryBegin{statement, replica, replica, 0});
            feed(replica);
        }
    }
    void step(int replica, int index) {
        SummaryStep step;
        step.step.index = index;
        ReducedReplica& reduced = step.step.replicas.emplace_back();
        reduced.replica = replica;
        reduced.complete = true;
        reduced.wall = kWall;
        reduced.ranks.resize(static_cast<std::size_t>(info_.pp));
        for (int rank = 0; rank < info_.pp; ++rank) {
            LiveRank& heard = step.ranks.emplace_back();
            heard.replica = replica;
            heard.rank = Rank{rank};
        }
        encodeSummary(encoders_[static_cast<std::size_t>(replica)], 1, 0ns, step);
        feed(replica);
    }
    void search(int replica, int step, int steps, const std::vector<Anomaly>& found) {
        LiveSearch search{step, steps, {}};
        for (const Anomaly& anomaly : found) {
            LiveAnomaly& one = search.found.emplace_back();
            one.anomaly = anomaly;
            one.last_at = step;
        }
        encodeSummary(encoders_[static_cast<std::size_t>(replica)], 1, 0ns, search);
        feed(replica);
    }
    /// How many anomalies were reported.
    int found() {
        const std::vector<LiveEvent> events = job.advance(1s);
        return static_cast<int>(std::ranges::count(events, LiveEvent::Kind::AnomalyFound, &LiveEvent::kind));
    }
    /// A rank that is slow in the last eight steps up to `last`.
    static Anomaly slowRank(double share, int last) {
        Anomaly anomaly;
        anomaly.kind = AnomalyKind::Straggler;
        anomaly.rank = Rank{1};
        anomaly.cost = TimeNs{static_cast<std::int64_t>(share * static_cast<double>(kWall.count()))};
        anomaly.seen.steps = 8;
        anomaly.seen.of_steps = 8;
        anomaly.seen.first = last - 7;
        anomaly.seen.last = last;
        anomaly.seen.latest = std::uint64_t{1} << 63U | 0xffU; // and once long before
        anomaly.seen.total = 8 * anomaly.cost;
        return anomaly;
    }

    LiveAnalyzer job;

private:
    static constexpr TimeNs kWall{100'000'000};

    void feed(int replica) {
        const auto place = static_cast<std::size_t>(replica);
        job.feed(streams_[place], encoders_[place].take(), 0ns);
    }

    RunInfo info_;
    std::vector<LiveAnalyzer::Stream> streams_;
    std::vector<perfetto::Encoder> encoders_;
};

TEST(Chain, WhatOneSearchFoundIsFoundOnce) {
    MadeUpJob made;
    for (int step = 0; step < 8; ++step) {
        made.step(0, step);
        made.step(1, step);
        EXPECT_EQ(made.found(), 0);
    }
    made.search(0, 7, 8, {MadeUpJob::slowRank(0.03, 7)});
    EXPECT_EQ(made.found(), 0) << "it costs little: two searches must find it";
    EXPECT_EQ(made.job.found().size(), 1U);
    made.search(1, 7, 8, {});
    EXPECT_EQ(made.found(), 0) << "another collector's search is not another one of the same";
    made.step(0, 8);
    made.step(1, 8);
    made.search(1, 8, 1, {});
    EXPECT_EQ(made.found(), 0);
    EXPECT_EQ(made.job.found().size(), 1U) << "it holds";
    made.search(0, 8, 1, {MadeUpJob::slowRank(0.03, 8)});
    EXPECT_EQ(made.found(), 1);
    EXPECT_EQ(made.job.counts().bad, 0);
}

TEST(Chain, CasesThatOneSearchFoundCountOneByOne) {
    MadeUpJob made;
    for (int step = 0; step < 8; ++step) {
        made.step(0, step);
        made.step(1, step);
    }
    made.search(0, 7, 8, {MadeUpJob::slowRank(0.1, 7)});
    EXPECT_EQ(made.found(), 1);
    ASSERT_EQ(made.job.anomalies().size(), 1U);
    EXPECT_EQ(made.job.anomalies()[0].times, 8);
    EXPECT_EQ(made.job.anomalies()[0].anomaly.replica, 0);
    EXPECT_EQ(made.job.anomalies()[0].anomaly.seen.latest, std::uint64_t{1} << 63U | 0xffU);
}

TEST(Chain, ASearchWaitsForTheStepsThatItCovers) {
    MadeUpJob made;
    made.step(0, 0);
    made.search(0, 0, 1, {MadeUpJob::slowRank(0.1, 0)});
    EXPECT_EQ(made.found(), 0) << "replica 1 may report of the step";
    made.search(0, 0, 1, {MadeUpJob::slowRank(0.1, 0)}); // as a collector does that started again
    made.step(1, 0);
    EXPECT_EQ(made.found(), 1);
    EXPECT_EQ(made.job.anomalies()[0].times, 1);
}

TEST(Chain, DamagedSharesAreCountedAndPassedOver) {
    LiveAnalyzer job;
    const auto stream = job.open();
    perfetto::Encoder encoder(1);
    encoder.process(1, 1, "replicas 0 to 9", 0);
    encoder.clockSnapshot(0ns, 0ns);
    RunStatement said;
    said.info = fourReplicas();
    encodeSummary(encoder, 1, 0ns, SummaryBegin{said, 0, 9, 0}); // more than the run has
    encodeSummary(encoder, 1, 0ns, SummaryEnd{});
    encodeSummary(encoder, 1, 0ns, SummaryBegin{said, 0, 1, 0});
    LiveRank rank;
    rank.replica = 3; // another collector's
    encodeSummary(encoder, 1, 0ns, rank);
    SummaryStep step;
    step.step.replicas.resize(1); // complete, without its ranks
    step.step.replicas[0].complete = true;
    encodeSummary(encoder, 1, 0ns, step);
    encodeSummary(encoder, 1, 0ns, LiveSearch{0, 1, {}}); // after a step that was not reported
    job.feed(stream, encoder.take(), 0ns);
    EXPECT_EQ(job.counts().bad, 4);
    (void)job.advance(1min);
    EXPECT_TRUE(job.steps().empty());
}

} // namespace
} // namespace bubblescope::live
