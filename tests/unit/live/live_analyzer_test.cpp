#include "core/live/live_analyzer.h"

#include "core/analysis/anomalies/occurrence.h"
#include "core/analysis/steps/run_analyzer.h"
#include "tests/support/sanitized.h"
#include "tests/unit/live/recorded_ranks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

namespace bubblescope::live {
namespace {

using namespace std::chrono_literals;
using test::fourRanks;
using test::fourRanksWithASlowOne;
using test::infoOf;
using test::RecordedRanks;
using test::writeBesideTheNext;
using Kind = LiveEvent::Kind;

/// An analyzer fed by ranks, with a separate clock.
class Watch {
public:
    explicit Watch(RecordedRanks& ranks, LiveOptions options = {}) : ranks_(ranks), analyzer(std::move(options)) {
        for (int rank = 0; rank < ranks.ranks(); ++rank)
            streams.push_back(analyzer.open());
    }
    void feed(int rank) { analyzer.feed(streams[static_cast<std::size_t>(rank)], ranks_.news(rank), now); }
    void feedAll() {
        for (int rank = 0; rank < ranks_.ranks(); ++rank)
            feed(rank);
    }
    std::vector<LiveEvent> after(TimeNs time) {
        now += time;
        std::vector<LiveEvent> fresh = analyzer.advance(now);
        events.insert(events.end(), fresh.begin(), fresh.end());
        return fresh;
    }
    [[nodiscard]] std::vector<int> closedSteps() const {
        std::vector<int> closed;
        for (const LiveEvent& event : events) {
            if (event.kind == Kind::StepClosed) closed.push_back(event.step);
        }
        return closed;
    }
    [[nodiscard]] std::size_t count(Kind kind) const {
        return static_cast<std::size_t>(
            std::ranges::count_if(events, [kind](const LiveEvent& event) { return event.kind == kind; }));
    }

private:
    RecordedRanks& ranks_;

public:
    LiveAnalyzer analyzer;
    std::vector<LiveAnalyzer::Stream> streams;
    TimeNs now{0};
    std::vector<LiveEvent> events;
};

std::vector<RankState> states(const LiveAnalyzer& analyzer) {
    std::vector<RankState> all;
    for (const LiveRank& rank : analyzer.ranks())
        all.push_back(rank.state);
    return all;
}

void writeStep(RecordedRanks& ranks, const Run& run, int index) {
    for (int rank = 0; rank < ranks.ranks(); ++rank)
        ranks.write(rank, run.steps[static_cast<std::size_t>(index)], index);
}

void endAll(RecordedRanks& ranks) {
    for (int rank = 0; rank < ranks.ranks(); ++rank)
        ASSERT_TRUE(ranks.writer(rank).appendEnd(0).ok());
}

TEST(LiveAnalyzer, SaysOfStepsWhatAnalyzeSays) {
    const auto wanted = fourRanks(6);
    const auto run = test::makeJitteredRun(wanted, 1);
    RecordedRanks ranks(infoOf(wanted));
    Watch watch(ranks);
    for (int step = 0; step < wanted.steps; ++step) {
        writeStep(ranks, run, step);
        watch.feedAll();
        watch.after(200ms);
    }
    endAll(ranks);
    watch.feedAll();
    watch.after(0ms);

    EXPECT_THAT(watch.closedSteps(), testing::ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_TRUE(watch.analyzer.runEnded());
    EXPECT_EQ(watch.count(Kind::RunEnded), 1U);
    JobControl control;
    auto loaded = loadRun({ranks.dir()}, control);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    const RunReport report = diagnoseRun(loaded.value()).value().report;
    ASSERT_EQ(watch.analyzer.steps().size(), report.steps.size());
    for (std::size_t i = 0; i < report.steps.size(); ++i) {
        const LiveStep& live = watch.analyzer.steps()[i];
        EXPECT_TRUE(live.complete) << live.fault;
        EXPECT_EQ(live.wall, report.steps[i].wall);
        EXPECT_DOUBLE_EQ(live.bubble_rate, report.steps[i].rates.over_makespan);
        ASSERT_TRUE(live.expected_rate);
        EXPECT_DOUBLE_EQ(*live.expected_rate, report.steps[i].form->bubble_rate);
        TimeNs causes{0};
        for (const TimeNs cause : live.causes)
            causes += cause;
        EXPECT_GT(causes, TimeNs{0});
    }
    EXPECT_EQ(watch.analyzer.counts().slices, ranks.records());
    EXPECT_EQ(watch.analyzer.counts().undelivered, 0);
    EXPECT_EQ(watch.analyzer.counts().incomplete, 0);
    EXPECT_EQ(watch.analyzer.window()->run().schedule.name, "1f1b");
}

TEST(LiveAnalyzer, KeepsTheFirstAndTheLastStepsInFull) {
    const auto wanted = fourRanks(20);
    const auto run = test::makeJitteredRun(wanted, 1);
    RecordedRanks ranks(infoOf(wanted));
    LiveOptions options;
    options.window = {2, 3};
    Watch watch(ranks, options);
    for (int step = 0; step < wanted.steps; ++step)
        writeStep(ranks, run, step);
    endAll(ranks); // until then the last step may go on
    watch.feedAll();
    watch.after(200ms);
    const StepWindow& window = *watch.analyzer.window();
    std::vector<int> kept;
    for (const StepTimeline& step : window.run().steps)
        kept.push_back(step.index);
    EXPECT_THAT(kept, testing::ElementsAre(0, 1, 17, 18, 19));
    const RunReport& report = window.report();
    ASSERT_EQ(report.steps.size(), kept.size());
    ASSERT_EQ(report.accounts.size(), kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
        EXPECT_EQ(report.steps[i].wall, window.run().steps[i].end - window.run().steps[i].begin);
        for (const RankAccounting& rank : report.accounts[i].ranks)
            EXPECT_EQ(rank.total(), report.steps[i].wall) << "each diagnosis is of its own step";
    }
}

TEST(LiveAnalyzer, ShowsTheLatestStepsBehindAGapWithTheirReport) {
    const auto wanted = fourRanks(20);
    const auto run = test::makeJitteredRun(wanted, 1);
    RecordedRanks ranks(infoOf(wanted));
    LiveOptions options;
    options.window = {2, 3};
    Watch watch(ranks, options);
    EXPECT_EQ(watch.analyzer.window(), nullptr);
    for (int step = 0; step < wanted.steps; ++step)
        writeStep(ranks, run, step);
    endAll(ranks);
    watch.feedAll();
    watch.after(200ms);
    const auto recent = watch.analyzer.latest(1'000'000);
    ASSERT_TRUE(recent);
    ASSERT_EQ(recent->run.steps.size(), 3U) << "the window's first two are left out";
    EXPECT_EQ(recent->run.steps.front().index, 17);
    EXPECT_EQ(recent->run.schedule.name, "1f1b");
    EXPECT_EQ(recent->run.span, recent->run.steps.back().end - recent->run.steps.front().begin);
    ASSERT_EQ(recent->report.steps.size(), 3U);
    ASSERT_EQ(recent->report.accounts.size(), 3U);
    EXPECT_EQ(recent->report.steps[2].wall, recent->run.steps[2].wall());
    EXPECT_EQ(recent->report.anomalies.size(), watch.analyzer.anomalies().size());
    EXPECT_EQ(watch.analyzer.latest(1)->run.steps.size(), 1U) << "the newest, however large";
}

TEST(LiveAnalyzer, TakesBytesInAnyPieces) {
    const auto wanted = fourRanks(3);
    const auto run = test::makeJitteredRun(wanted, 2);
    RecordedRanks ranks(infoOf(wanted));
    for (int step = 0; step < wanted.steps; ++step)
        writeStep(ranks, run, step);
    endAll(ranks);
    Watch watch(ranks);
    std::mt19937 random(3);
    std::vector<std::string> left;
    for (int rank = 0; rank < 4; ++rank)
        left.push_back(ranks.news(rank));
    while (std::ranges::any_of(left, [](const std::string& bytes) { return !bytes.empty(); })) {
        const std::size_t rank = random() % 4;
        const std::size_t piece = std::min<std::size_t>(left[rank].size(), 1 + random() % 700);
        watch.analyzer.feed(watch.streams[rank], left[rank].substr(0, piece), watch.now);
        left[rank].erase(0, piece);
        watch.after(1ms);
    }
    EXPECT_THAT(watch.closedSteps(), testing::ElementsAre(0, 1, 2));
    EXPECT_EQ(watch.analyzer.counts().slices, ranks.records());
    EXPECT_EQ(watch.analyzer.counts().torn, 0);
    EXPECT_EQ(watch.analyzer.counts().undelivered, 0);
    EXPECT_TRUE(std::ranges::all_of(watch.analyzer.steps(), [](const LiveStep& step) { return step.complete; }));
}

TEST(LiveAnalyzer, WhatIsMissingIsUnknownAndNoBubble) {
    const auto wanted = fourRanks(4);
    const auto run = test::makeJitteredRun(wanted, 4);
    RecordedRanks ranks(infoOf(wanted));
    LiveOptions options;
    options.assembly.patience = 5s;
    Watch watch(ranks, options);
    writeStep(ranks, run, 0);
    writeStep(ranks, run, 1);
    watch.feedAll();
    watch.after(1s);
    for (const int rank : {0, 1, 3}) {
        ranks.write(rank, run.steps[2], 2);
        ranks.write(rank, run.steps[3], 3);
        watch.feed(rank);
    }
    watch.after(1s);
    EXPECT_EQ(watch.analyzer.steps().back().index, 1) << "rank 2 may still come";
    EXPECT_THAT(states(watch.analyzer), testing::Each(RankState::Running));
    watch.after(3s);
    EXPECT_EQ(watch.analyzer.ranks()[2].state, RankState::Late);
    watch.after(3s);
    const LiveStep& step = watch.analyzer.steps().back();
    EXPECT_EQ(step.index, 3);
    EXPECT_FALSE(step.complete);
    EXPECT_NE(step.fault, "");
    EXPECT_THAT(step.unknown, testing::ElementsAre(testing::Pair(0, Rank{2})));
    EXPECT_EQ(step.bubble, TimeNs{0});
    EXPECT_EQ(step.wall, TimeNs{0});

    ranks.write(2, run.steps[2], 2); // far too late
    watch.feed(2);
    EXPECT_GT(watch.analyzer.counts().late, 0);
}

TEST(LiveAnalyzer, TellsWhichRankIsGoneAndThatItReturned) {
    const auto wanted = fourRanks(6);
    const auto run = test::makeJitteredRun(wanted, 5);
    RecordedRanks ranks(infoOf(wanted));
    Watch watch(ranks);
    writeStep(ranks, run, 0);
    writeStep(ranks, run, 1);
    watch.feedAll();
    watch.after(1s);
    watch.analyzer.gone(watch.streams[2], "its process was killed");
    const auto events = watch.after(0s);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind, Kind::RankChanged);
    EXPECT_EQ(events[0].rank.rank, Rank{2});
    EXPECT_EQ(events[0].rank.state, RankState::Gone);
    EXPECT_EQ(events[0].rank.reason, "its process was killed");
    for (const int rank : {0, 1, 3}) {
        ranks.write(rank, run.steps[2], 2);
        watch.feed(rank);
    }
    watch.after(1s);
    EXPECT_FALSE(watch.analyzer.steps().back().complete) << "nobody waits for who is gone";

    ranks.start(2, {"host", "clock", 1, {}});
    watch.analyzer.restart(watch.streams[2]);
    writeStep(ranks, run, 3);
    writeStep(ranks, run, 4);
    watch.feedAll();
    watch.after(1s);
    EXPECT_THAT(states(watch.analyzer), testing::Each(RankState::Running));
    EXPECT_EQ(watch.analyzer.steps().back().index, 4);
    EXPECT_TRUE(watch.analyzer.steps().back().complete);
}

TEST(LiveAnalyzer, ARunInTheSamePlaceBeginsAnew) {
    const auto wanted = fourRanks(3);
    const auto run = test::makeJitteredRun(wanted, 6);
    RecordedRanks ranks(infoOf(wanted));
    Watch watch(ranks);
    for (int round = 0; round < 2; ++round) {
        for (int rank = 0; round > 0 && rank < 4; ++rank) {
            ranks.start(rank, {"host", "clock", 1, {}});
            watch.analyzer.restart(watch.streams[static_cast<std::size_t>(rank)]);
        }
        for (int step = 0; step < 3; ++step)
            writeStep(ranks, run, step);
        endAll(ranks);
        watch.feedAll();
        watch.after(1s);
        EXPECT_TRUE(watch.analyzer.runEnded());
        EXPECT_EQ(watch.analyzer.steps().size(), 3U);
    }
    EXPECT_EQ(watch.count(Kind::RunBegan), 2U);
    EXPECT_EQ(watch.closedSteps().size(), 6U);
}

TEST(LiveAnalyzer, CountsWhatCameTwiceTornOrOutOfOrder) {
    const auto wanted = fourRanks(3);
    const auto run = test::makeJitteredRun(wanted, 7);
    RecordedRanks ranks(infoOf(wanted));
    Watch watch(ranks);
    ranks.write(1, run.steps[1], 1); // before its step 0
    writeStep(ranks, run, 0);
    ranks.write(0, run.steps[1], 1);
    ranks.write(0, run.steps[1], 1); // twice
    ranks.write(2, run.steps[1], 1);
    ranks.write(3, run.steps[1], 1);
    for (const int rank : {0, 1, 2})
        watch.feed(rank);
    const std::string bytes = ranks.news(3);
    ranks.write(3, run.steps[2], 2);
    watch.analyzer.feed(watch.streams[3], bytes + "torn by a crash" + ranks.news(3), watch.now);
    watch.after(1s);
    const LiveCounts counts = watch.analyzer.counts();
    EXPECT_GT(counts.out_of_order, 0);
    EXPECT_EQ(counts.torn, 1);
    EXPECT_EQ(watch.analyzer.steps().size(), 1U) << "step 1 may have more to come";
    endAll(ranks);
    for (const int rank : {0, 1, 2})
        watch.feed(rank);
    watch.feed(3);
    watch.after(1s);
    ASSERT_GE(watch.analyzer.steps().size(), 2U);
    EXPECT_TRUE(watch.analyzer.steps()[0].complete);
    EXPECT_TRUE(watch.analyzer.steps()[1].complete) << watch.analyzer.steps()[1].fault;
    EXPECT_EQ(watch.analyzer.counts().duplicates,
              static_cast<std::int64_t>(run.steps[1].ranks[0].size() + run.steps[1].comm[0].size()));
}

TEST(LiveAnalyzer, FlagsARankThatBecomesSlowWithinThreeSteps) {
    for (const unsigned seed : {1U, 2U, 3U}) {
        constexpr int kOnset = 12;
        const auto wanted = fourRanksWithASlowOne(20, kOnset, 1.3);
        const auto run = test::makeJitteredRun(wanted, seed);
        RecordedRanks ranks(infoOf(wanted));
        Watch watch(ranks);
        std::optional<int> flagged;
        for (int step = 0; step < wanted.steps && !flagged; ++step) {
            writeStep(ranks, run, step);
            watch.feedAll();
            for (const LiveEvent& event : watch.after(1s)) {
                if (event.kind != Kind::AnomalyFound) continue;
                EXPECT_GE(event.anomaly->found_at, kOnset) << event.anomaly->anomaly.message.text();
                const bool it_is = event.anomaly->anomaly.kind == AnomalyKind::Straggler;
                if (it_is && event.anomaly->anomaly.rank == Rank{2}) flagged = event.anomaly->found_at;
            }
        }
        ASSERT_TRUE(flagged) << "seed " << seed;
        EXPECT_GE(*flagged, kOnset);
        EXPECT_LE(*flagged, kOnset + 2) << "seed " << seed;
    }
}

/// All steps of a run, one after the other with a second each, or all at once.
std::unique_ptr<Watch> watched(RecordedRanks& ranks, const Run& run, bool at_once) {
    auto watch = std::make_unique<Watch>(ranks);
    for (int step = 0; step < static_cast<int>(run.steps.size()); ++step) {
        writeStep(ranks, run, step);
        if (at_once) continue;
        watch->feedAll();
        watch->after(1s);
    }
    endAll(ranks);
    watch->feedAll();
    watch->after(1s);
    EXPECT_TRUE(watch->analyzer.runEnded());
    return watch;
}

// Steps that arrive faster than they can be searched are searched several at once. Both describe the run in the same
// way.
TEST(LiveAnalyzer, StepsThatComeAtOnceShowTheSameFaults) {
    for (unsigned seed = 1; seed <= (test::kSanitized ? 1U : 3U); ++seed) {
        for (const int steps : {3, 12, 29, 70}) {
            auto wanted = fourRanks(steps);
            const int onset = steps / 2;
            wanted.op_factor = [onset](int step, Rank rank, const Op& op) {
                if (step % 5 == 3 && rank == Rank{1} && op.microbatch.value == 2) return 4.0;
                return rank == Rank{2} && step >= onset ? 1.4 : 1.0;
            };
            const auto run = test::makeJitteredRun(wanted, seed);
            RecordedRanks one_by_one(infoOf(wanted));
            RecordedRanks together(infoOf(wanted));
            const auto slow = watched(one_by_one, run, false);
            const auto fast = watched(together, run, true);
            ASSERT_EQ(fast->analyzer.steps().size(), slow->analyzer.steps().size());
            for (std::size_t i = 0; i < fast->analyzer.steps().size(); ++i) {
                EXPECT_EQ(fast->analyzer.steps()[i].wall, slow->analyzer.steps()[i].wall);
                EXPECT_EQ(fast->analyzer.steps()[i].causes, slow->analyzer.steps()[i].causes) << "step " << i;
            }
            const auto told = [](const LiveAnalyzer& analyzer) {
                std::vector<std::string> all;
                for (const LoggedFinding& open : analyzer.anomalies()) {
                    const Occurrence& seen = open.anomaly.seen;
                    all.push_back(fmt::format("{} {} to {}, {} steps, after {}", identityOf(open.anomaly), seen.first,
                                              seen.last, seen.steps, open.last_at));
                }
                std::ranges::sort(all);
                return all;
            };
            EXPECT_EQ(told(fast->analyzer), told(slow->analyzer)) << steps << " steps, seed " << seed;
            EXPECT_EQ(fast->analyzer.window()->searchAsWhole().size(), slow->analyzer.window()->searchAsWhole().size());
            EXPECT_EQ(fast->count(Kind::StepClosed), static_cast<std::size_t>(steps));
        }
    }
}

TEST(LiveAnalyzer, ARunWithoutFaultsThatComesAtOnceIsSilent) {
    for (const unsigned seed : {1U, 2U}) {
        const auto wanted = fourRanks(100);
        const auto run = test::makeJitteredRun(wanted, seed);
        RecordedRanks ranks(infoOf(wanted));
        EXPECT_EQ(watched(ranks, run, true)->count(Kind::AnomalyFound), 0U) << "seed " << seed;
    }
}

// Each step is due by itself, but the next follows much sooner than a search is worth.
TEST(LiveAnalyzer, StepsInQuickSuccessionShareASearch) {
    constexpr int kOnset = 34;
    const auto wanted = fourRanksWithASlowOne(48, kOnset, 1.5);
    const auto run = test::makeJitteredRun(wanted, 1);
    RecordedRanks ranks(infoOf(wanted));
    LiveOptions options;
    options.assembly.settle = 0s;
    Watch watch(ranks, options);
    watch.now = 1s;
    ranks.write(0, run.steps[0], 0);
    const auto close = [&](int step) {
        writeBesideTheNext(ranks, run, step);
        watch.feedAll();
        watch.after(1ns);
    };
    const auto lastAt = [&watch] { // the step after which the slow rank was found last
        const auto& open = watch.analyzer.anomalies();
        const auto slow =
            std::ranges::find(open, AnomalyKind::Straggler, [](const LoggedFinding& one) { return one.anomaly.kind; });
        return slow == open.end() ? -1 : slow->last_at;
    };
    std::vector<int> found_after;
    for (int step = 0; step <= 43; ++step) {
        close(step);
        const int last_at = lastAt();
        if (last_at >= 0 && (found_after.empty() || found_after.back() != last_at)) found_after.push_back(last_at);
    }
    EXPECT_GE(watch.closedSteps().back(), 42);
    ASSERT_FALSE(found_after.empty());
    EXPECT_LE(found_after.size(), 3U) << "steps 34 to 43";
    EXPECT_LE(found_after.front(), kOnset + 5) << "an eighth of the run";
    if (lastAt() == watch.closedSteps().back()) close(44);
    EXPECT_LT(lastAt(), watch.closedSteps().back());
    EXPECT_TRUE(watch.analyzer.conclude().empty()) << "nothing new";
    EXPECT_EQ(lastAt(), watch.closedSteps().back()) << "the steps since were searched";
    close(watch.closedSteps().back() + 1);
    EXPECT_LT(lastAt(), watch.closedSteps().back());
    watch.after(1s); // without new data
    EXPECT_EQ(lastAt(), watch.closedSteps().back());
}

// Steps that share a search wait for it: those before a crash are what one wants to know of.
TEST(LiveAnalyzer, TheLastStepsOfARunAreSearchedBeforeAnotherBegins) {
    constexpr int kOnset = 43; // after a search; the next one would come after five steps
    const auto wanted = fourRanksWithASlowOne(48, kOnset, 2.5);
    const auto run = test::makeJitteredRun(wanted, 1);
    RecordedRanks ranks(infoOf(wanted));
    LiveOptions options;
    options.assembly.settle = 0s;
    Watch watch(ranks, options);
    watch.now = 1s;
    ranks.write(0, run.steps[0], 0);
    for (int step = 0; step <= kOnset + 3; ++step) {
        writeBesideTheNext(ranks, run, step);
        watch.feedAll();
        watch.after(1ns);
    }
    const int last = watch.closedSteps().back();
    ASSERT_GT(last, kOnset);
    const auto tellsOfTheSlowRank = [last](const LiveEvent& event) {
        return event.kind == Kind::AnomalyFound && event.anomaly->anomaly.rank == Rank{2} &&
               event.anomaly->anomaly.seen.last == last;
    };
    ASSERT_TRUE(std::ranges::none_of(watch.events, tellsOfTheSlowRank)) << "or there is nothing to lose";
    ASSERT_TRUE(watch.analyzer.anomalies().empty());
    const auto seen = static_cast<std::ptrdiff_t>(watch.events.size());
    for (int rank = 0; rank < 4; ++rank) {
        ranks.start(rank, {"host", "clock", 2, {}});
        watch.analyzer.restart(watch.streams[static_cast<std::size_t>(rank)]);
        ranks.write(rank, run.steps[0], 0);
    }
    watch.feedAll();
    watch.after(1ns);
    const auto before = watch.events.begin() + seen;
    const auto began =
        std::find_if(before, watch.events.end(), [](const LiveEvent& event) { return event.kind == Kind::RunBegan; });
    ASSERT_NE(began, watch.events.end());
    const auto late = std::find_if(before, began, tellsOfTheSlowRank);
    ASSERT_NE(late, began) << "after the steps, before the next run";
    EXPECT_EQ(late->step, last);
    EXPECT_TRUE(watch.analyzer.anomalies().empty()) << "of the new run";
    EXPECT_TRUE(watch.analyzer.conclude().empty());
}

// The window of kept steps moves on; the step since which a fault holds does not.
TEST(LiveAnalyzer, TheOnsetOfAFaultStaysTrue) {
    constexpr int kOnset = 10; // after the steps that are kept from the beginning
    const auto wanted = fourRanksWithASlowOne(70, kOnset, 1.5);
    const auto run = test::makeJitteredRun(wanted, 1);
    RecordedRanks ranks(infoOf(wanted));
    Watch watch(ranks);
    bool changes = false;
    for (int step = 0; step < wanted.steps; ++step) {
        writeStep(ranks, run, step);
        watch.feedAll();
        watch.after(1s);
        if (step < kOnset + 2) continue;
        for (const LoggedFinding& open : watch.analyzer.anomalies()) {
            const Anomaly& anomaly = open.anomaly;
            const bool lasts = anomaly.kind == AnomalyKind::Straggler || anomaly.kind == AnomalyKind::StepTimeChange;
            if (!lasts) continue;
            EXPECT_EQ(anomaly.seen.first, kOnset) << "after step " << step << ": " << anomaly.message.text();
            if (anomaly.kind != AnomalyKind::StepTimeChange) continue;
            changes = true;
            EXPECT_EQ(anomaly.step, kOnset) << anomaly.message.text();
            EXPECT_NE(anomaly.message.text().find("from step 10 on"), std::string::npos) << anomaly.message.text();
            EXPECT_EQ(anomaly.seen.since_first, step + 1 - kOnset);
        }
    }
    EXPECT_TRUE(changes);
}

// As four processes that share two cores: every op varies by 15 %, steps by 5 %, and one op in a hundred is
// interrupted.
TEST(LiveAnalyzer, TellsLittleOfANoisyJob) {
    const int steps = 100; // fewer would count the first alerts alone
    for (unsigned seed = 1; seed <= (test::kSanitized ? 1U : 3U); ++seed) {
        auto wanted = fourRanks(steps);
        wanted.op_spread = 0.15;
        wanted.step_spread = 0.05;
        wanted.op_factor = [random = std::mt19937_64(seed)](int, Rank, const Op&) mutable {
            return random() % 100 == 0 ? 1.5 + static_cast<double>(random() % 300) / 100 : 1.0;
        };
        const auto run = test::makeJitteredRun(wanted, seed);
        RecordedRanks ranks(infoOf(wanted));
        Watch watch(ranks);
        int told = 0;
        int worth_little = 0;
        for (int step = 0; step < wanted.steps; ++step) {
            writeStep(ranks, run, step);
            watch.feedAll();
            for (const LiveEvent& event : watch.after(1s)) {
                if (event.kind != Kind::AnomalyFound) continue;
                ++told;
                worth_little += 20 * event.anomaly->anomaly.cost < run.steps.front().wall() ? 1 : 0;
            }
        }
        EXPECT_LE(worth_little, steps / 20) << "seed " << seed;
        EXPECT_LE(told, steps / 10) << "seed " << seed << ": they are counted where they come back";
    }
}

TEST(LiveAnalyzer, IsSilentAboutARunWithoutFaults) {
    const int steps = test::kSanitized ? 30 : 150;
    for (const unsigned seed : {1U, 2U}) {
        const auto wanted = fourRanks(steps);
        const auto run = test::makeJitteredRun(wanted, seed);
        RecordedRanks ranks(infoOf(wanted));
        Watch watch(ranks);
        for (int step = 0; step < wanted.steps; ++step) {
            writeStep(ranks, run, step);
            watch.feedAll();
            for (const LiveEvent& event : watch.after(1s)) {
                EXPECT_NE(event.kind, Kind::AnomalyFound)
                    << "seed " << seed << ", step " << step << ": " << event.anomaly->anomaly.message.text();
            }
        }
        EXPECT_EQ(watch.analyzer.steps().size(), static_cast<std::size_t>(steps));
    }
}

TEST(LiveAnalyzer, ReplicasMakeAStepTogether) {
    auto wanted = fourRanks(3);
    const auto run = test::makeJitteredRun(wanted, 8);
    RunInfo info = infoOf(wanted);
    info.dp = 2;
    RecordedRanks ranks(info);
    Watch watch(ranks);
    for (int step = 0; step < 3; ++step)
        writeStep(ranks, run, step);
    for (int rank = 0; rank < 7; ++rank)
        watch.feed(rank);
    watch.after(1s);
    EXPECT_EQ(watch.analyzer.steps().size(), 0U);
    watch.feed(7);
    watch.after(1s);
    ASSERT_GE(watch.analyzer.steps().size(), 2U);
    EXPECT_TRUE(watch.analyzer.steps()[0].complete) << watch.analyzer.steps()[0].fault;
    EXPECT_EQ(watch.analyzer.window()->run().steps.size(), 2 * watch.analyzer.steps().size());
}

TEST(LiveAnalyzer, MemoryOfStepsIsBounded) {
    const auto wanted = fourRanks(60);
    const auto run = test::makeJitteredRun(wanted, 9);
    RecordedRanks ranks(infoOf(wanted));
    LiveOptions options;
    options.window = {4, 10};
    options.history = 20;
    Watch watch(ranks, options);
    for (int step = 0; step < wanted.steps; ++step) {
        writeStep(ranks, run, step);
        watch.feedAll();
        watch.after(1s);
    }
    EXPECT_EQ(watch.analyzer.steps().size(), 20U);
    EXPECT_EQ(watch.analyzer.counts().steps, 60);
    const auto& steps = watch.analyzer.window()->run().steps;
    ASSERT_EQ(steps.size(), 14U);
    EXPECT_EQ(steps.front().index, 0);
    EXPECT_EQ(steps[3].index, 3);
    EXPECT_EQ(steps[4].index, 50);
}

TEST(LiveAnalyzer, SetsHostsWithOtherClocksRight) {
    const auto wanted = fourRanks(3);
    auto run = test::makeJitteredRun(wanted, 10);
    RecordedRanks ranks(infoOf(wanted));
    // Rank 3's host is a day ahead. The pings show it, whatever time of day the hosts report.
    constexpr TimeNs kAhead = 24h;
    auto shifted = run;
    for (StepTimeline& step : shifted.steps) {
        for (TimelineOp& op : step.ranks[3]) {
            op.start += kAhead;
            op.end += kAhead;
        }
        for (CommSpan& span : step.comm[3]) {
            span.start += kAhead;
            span.end += kAhead;
        }
    }
    ranks.start(3, {"other", "other clock", 1, {}});
    ASSERT_TRUE(ranks.writer(3).append(Ping{3, 0, kAhead + 100us, 120us, 121us, kAhead + 141us}).ok());
    Watch watch(ranks);
    for (int step = 0; step < 3; ++step)
        writeStep(ranks, shifted, step);
    endAll(ranks);
    watch.feedAll();
    watch.after(1s);
    ASSERT_EQ(watch.analyzer.steps().size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        const TimeNs off = std::chrono::abs(watch.analyzer.steps()[i].wall - run.steps[i].wall());
        EXPECT_LE(off, TimeNs{21'000}) << "no more than the ping took";
    }
    EXPECT_EQ(watch.analyzer.clocks().pings(), 1U);
}

} // namespace
} // namespace bubblescope::live
