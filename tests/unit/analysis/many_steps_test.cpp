// Steps are divided into pieces that several threads analyse, and the parts of a large step likewise: the findings
// must not depend on the borders.

#include "core/analysis/anomalies/samples.h"
#include "core/analysis/statistics/robust.h"
#include "core/analysis/step_pieces.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/timeline/bubbles.h"
#include "tests/support/jittered_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

bubblescope::Run runOf(const char* schedule, int pp, int microbatches, int steps) {
    test::JitteredRun wanted;
    wanted.spec = {schedule, "", pp, microbatches, 1};
    wanted.steps = steps;
    wanted.op_factor = [](int step, Rank rank, const Op& op) {
        return step % 5 == 3 && rank.value == 2 && op.kind == OpKind::Forward && op.microbatch.value == 4 ? 3.0 : 1.0;
    };
    return test::makeJitteredRun(wanted, 7);
}

/// Steps of two orders, in blocks of seven.
bubblescope::Run mixedRun() {
    bubblescope::Run run = runOf("1f1b", 4, 8, 90);
    const bubblescope::Run other = runOf("fthenb", 4, 8, 90);
    for (std::size_t s = 0; s < run.steps.size(); ++s) {
        if (s / 7 % 2 == 1) run.steps[s] = other.steps[s];
    }
    return run;
}

void expectSameAccount(const StepAccounting& a, const StepAccounting& b) {
    EXPECT_EQ(a.ideal, b.ideal);
    ASSERT_EQ(a.ranks.size(), b.ranks.size());
    for (std::size_t r = 0; r < a.ranks.size(); ++r)
        EXPECT_EQ(a.ranks[r].causes, b.ranks[r].causes);
    for (std::size_t i = 0; i < a.waterfall.size(); ++i)
        EXPECT_EQ(a.waterfall[i].without, b.waterfall[i].without);
}

void expectSame(const StepDiagnosis& a, const StepDiagnosis& b) {
    EXPECT_EQ(*a.units, *b.units);
    EXPECT_EQ(a.path.slack, b.path.slack);
    expectSameAccount(a.accounting, b.accounting);
    EXPECT_EQ(a.attribution.usual, b.attribution.usual);
    EXPECT_EQ(a.attribution.attributed, b.attribution.attributed);
    EXPECT_EQ(a.attribution.unexplained, b.attribution.unexplained);
    EXPECT_TRUE(std::ranges::equal(a.attribution.bubbles, b.attribution.bubbles));
    ASSERT_EQ(a.attribution.ranking.size(), b.attribution.ranking.size());
    for (std::size_t i = 0; i < a.attribution.ranking.size(); ++i) {
        EXPECT_EQ(a.attribution.ranking[i].kind, b.attribution.ranking[i].kind);
        EXPECT_EQ(a.attribution.ranking[i].waits, b.attribution.ranking[i].waits);
        EXPECT_EQ(a.attribution.ranking[i].saves, b.attribution.ranking[i].saves);
    }
}

TEST(ManySteps, DiagnosesTakeWhatTheReportWasMadeWith) {
    const bubblescope::Run run = mixedRun();
    const RunReport report = analyzeRun(run);
    const std::vector<StepDiagnosis> taken = report.diagnosesOf(run).of(10, 30);
    const std::vector<StepDiagnosis> made = StepDiagnoses(run, report.selection, report.clocks.bound()).of(10, 30);
    ASSERT_EQ(taken.size(), made.size());
    for (std::size_t s = 0; s < made.size(); ++s)
        expectSame(taken[s], made[s]);
}

TEST(ManySteps, AreDiagnosedAlikeWhereverPiecesBegin) {
    const bubblescope::Run run = mixedRun();
    ASSERT_GT(stepPieces(run.steps), 8U);
    const StepSelection selection = selectSteps(run.steps);
    const StepDiagnoses diagnoses(run, selection);
    const std::vector<StepDiagnosis> all = diagnoses.all();
    constexpr std::size_t kFrom = 33; // other borders
    const std::vector<StepDiagnosis> later = diagnoses.of(kFrom, all.size());
    ASSERT_EQ(later.size() + kFrom, all.size());
    for (std::size_t s = kFrom; s < all.size(); ++s)
        expectSame(all[s], later[s - kFrom]);
    expectSame(all.back(), diagnoses.of(all.size() - 1)); // alone

    const RunReport report = analyzeRun(run);
    expectSame(all[report.typicalStep()], report.typical);
    for (std::size_t s = 0; s < all.size(); ++s)
        expectSameAccount(all[s].accounting, report.accounts[s]);
}

TEST(ManySteps, OfOneOrderShareWhatTheirUnitsMean) {
    const bubblescope::Run run = runOf("1f1b", 4, 8, 64);
    std::set<const void*> lists;
    for (const StepDiagnosis& diagnosis : StepDiagnoses(run, selectSteps(run.steps)).all())
        lists.insert(diagnosis.units.get());
    EXPECT_EQ(lists.size(), 1U);
}

template <class List>
std::size_t roomOf(const List& list) {
    return list.capacity() * sizeof(list.front());
}

std::size_t roomOf(const std::vector<std::vector<Bubble>>& lists) {
    std::size_t bytes = lists.capacity() * sizeof(lists.front());
    for (const auto& list : lists)
        bytes += roomOf<std::vector<Bubble>>(list);
    return bytes;
}

/// The memory that a report keeps for a step: the capacity of its lists, and the object itself.
std::size_t keptOf(const StepAnalysis& analysis, const StepAccounting& account) {
    std::size_t bytes = sizeof analysis + sizeof account + analysis.ranks.bytes() + account.ranks.bytes() +
                        roomOf(analysis.bubbles) + analysis.form_note.capacity();
    if (analysis.form)
        bytes += roomOf(analysis.form->positions) + roomOf(analysis.form->bubble) + roomOf(analysis.form->quoted);
    return bytes;
}

/// The most that a report keeps of a step, but of the typical one.
std::size_t mostKept(const bubblescope::Run& run) {
    const RunReport report = analyzeRun(run);
    std::size_t most = 0;
    for (std::size_t s = 0; s < run.steps.size(); ++s) {
        if (s != report.typicalStep()) most = std::max(most, keptOf(report.steps[s], report.accounts[s]));
    }
    EXPECT_FALSE(report.steps[report.typicalStep()].bubbles.empty());
    EXPECT_TRUE(report.steps[report.typicalStep()].positionsKnown());
    return most;
}

TEST(ManySteps, KeepBytesByRankAndNoneByOp) {
    constexpr int kRanks = 16;
    constexpr std::size_t kBytes = 84; // of a rank; 384 if they are not packed
    const std::size_t kept = mostKept(runOf("1f1b", kRanks, 8, 8));
    const std::size_t of_more_ops = mostKept(runOf("1f1b", kRanks, 128, 8));
    EXPECT_LE(of_more_ops, kept + std::size_t{kRanks} * 16) << "sixteen times as many ops: some numbers are longer";
    const std::size_t of_more_ranks = mostKept(runOf("1f1b", 2 * kRanks, 8, 8));
    EXPECT_LE(of_more_ranks - kept, std::size_t{kRanks} * kBytes);
    EXPECT_LE(kept, std::size_t{kRanks} * kBytes + 1600);
    RecordProperty("bytes_a_step", std::to_string(kept));
    RecordProperty("bytes_a_rank", std::to_string((of_more_ranks - kept) / kRanks));
}

TEST(ManySteps, KeepTheSamePackedAsInFull) {
    const bubblescope::Run run = mixedRun();
    const RunReport packed = analyzeRun(run);
    DiagnosisOptions in_full;
    in_full.steps_in_full = true;
    const RunReport open = analyzeRun(run, in_full);
    for (std::size_t s = 0; s < run.steps.size(); ++s) {
        EXPECT_EQ(packed.steps[s].ranks.isPacked(), s != packed.typicalStep());
        EXPECT_EQ(packed.accounts[s].ranks.isPacked(), s != packed.typicalStep());
        EXPECT_FALSE(open.steps[s].ranks.isPacked() || open.accounts[s].ranks.isPacked());
        expectSameAccount(packed.accounts[s], open.accounts[s]);
        const std::vector<RankAccount> a = packed.steps[s].ranks.list();
        const std::vector<RankAccount> b = open.steps[s].ranks.list();
        ASSERT_EQ(a.size(), b.size());
        for (std::size_t r = 0; r < a.size(); ++r) {
            EXPECT_EQ(a[r].rank, b[r].rank);
            EXPECT_EQ(std::tuple(a[r].busy, a[r].bubble, a[r].replay, a[r].expected_bubble),
                      std::tuple(b[r].busy, b[r].bubble, b[r].replay, b[r].expected_bubble));
            EXPECT_EQ(a[r].executed, b[r].executed);
            EXPECT_EQ(a[r].observed, b[r].observed);
            EXPECT_EQ(a[r].expected, b[r].expected);
        }
    }
}

/// Two replicas; one step in five is twice as slow, so that it does not count.
bubblescope::Run replicasWithOutliers(bool long_ops) {
    test::JitteredRun wanted;
    wanted.spec = {"interleaved", "", 4, 8, 2};
    wanted.steps = 20;
    if (long_ops) wanted.times.forward = TimeNs{std::int64_t{5'000'000'000}}; // some, of 32 bits and more
    wanted.op_factor = [](int step, Rank, const Op&) { return step % 10 == 7 ? 2.0 : 1.0; };
    bubblescope::Run run = test::makeJitteredRun(wanted, 3);
    const bubblescope::Run other = test::makeJitteredRun(wanted, 4);
    for (const StepTimeline& step : other.steps)
        run.steps.insert(run.steps.end(), step)->replica = 1;
    std::ranges::stable_sort(run.steps, {}, &StepTimeline::index);
    return run;
}

TEST(OpSamples, AreThoseOfTheSteps) {
    for (const bool long_ops : {false, true}) {
        const bubblescope::Run run = replicasWithOutliers(long_ops);
        const StepSelection selection = selectSteps(run.steps);
        const OpSamples samples(run.steps, selection);
        ASSERT_EQ(samples.replicas(), 2);
        std::vector<std::vector<double>> of_group(samples.groupCount());
        std::vector<std::vector<double>> of_place(samples.groupCount() / 2);
        std::size_t sample = 0;
        std::size_t row = 0;
        bool outliers = false;
        for (std::size_t s = 0; s < run.steps.size(); ++s) {
            outliers = outliers || !selection.isSteady(s);
            for (std::size_t r = 0; r < run.steps[s].ranks.size(); ++r, ++row) {
                ASSERT_EQ(samples.rows()[row].begin, sample);
                ASSERT_EQ(samples.rows()[row].step, s);
                for (const TimelineOp& op : run.steps[s].ranks[r]) {
                    if (op.op.kind == OpKind::Optimizer) continue;
                    const auto duration = static_cast<double>(op.duration().count());
                    const std::size_t place = samples.placeOf(Rank{r}, op.op.chunk, OpSamples::kindOf(op.op));
                    const std::size_t group = samples.groupAt(run.steps[s].replica, place);
                    ASSERT_EQ(samples.group(sample), group);
                    ASSERT_EQ(samples.duration(sample), duration);
                    ++sample;
                    if (!selection.isSteady(s)) continue;
                    of_group[group].push_back(duration);
                    of_place[place].push_back(duration);
                }
                ASSERT_EQ(samples.rows()[row].end(), sample);
            }
        }
        ASSERT_TRUE(outliers);
        EXPECT_EQ(samples.size(), sample);
        for (std::size_t group = 0; group < of_group.size(); ++group)
            EXPECT_EQ(samples.median(group), statistics::median(of_group[group])) << group;
        const std::size_t per_rank = of_place.size() / run.steps.front().ranks.size();
        for (std::size_t place = 0; place < of_place.size(); ++place) {
            const PlaceDurations of_rank = samples.ofRank(Rank{place / per_rank});
            EXPECT_TRUE(std::ranges::equal(of_rank.of(place), of_place[place])) << place;
            EXPECT_EQ(samples.countOfPlace(place), of_place[place].size());
            EXPECT_EQ(samples.medianOfPlace(place), statistics::median(of_place[place])) << place;
        }
    }
}

TEST(OpSamples, TakeFewBytesAnOp) {
    const bubblescope::Run run = runOf("1f1b", 16, 32, 40);
    const OpSamples samples(run.steps, selectSteps(run.steps));
    const auto bytes = static_cast<double>(samples.bytes());
    const double rows = 16 * 40;
    EXPECT_LE(bytes, 8 * static_cast<double>(samples.size()) + 24 * rows + 16 * 1024);
}

TEST(OpSamples, AreThinnedAlikeWhetherListedOrNot) {
    for (const std::size_t size : {0U, 1U, 1999U, 2000U, 2001U, 7'777U}) {
        std::vector<double> values;
        Thinned unlisted(size);
        for (std::size_t i = 0; i < size; ++i) {
            values.push_back(static_cast<double>(i));
            unlisted.add(values.back());
        }
        EXPECT_EQ(unlisted.take(), thinned(values)) << size;
    }
}

// The capacity of lists is counted.
TEST(ManySteps, KeepFewBytesAnOp) {
    const bubblescope::Run run = runOf("1f1b", 16, 64, 8);
    std::size_t ops = 0;
    std::size_t transfers = 0;
    std::size_t of_timelines = 0;
    std::size_t of_transfers = 0;
    for (const StepTimeline& step : run.steps) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            ops += step.ranks[r].size();
            of_timelines += roomOf(step.ranks[r]);
            transfers += step.comm[r].size();
            of_transfers += step.comm[r].size() * sizeof(CommSpan);
        }
    }
    const auto each = [](std::size_t all, std::size_t of) {
        return static_cast<double>(all) / static_cast<double>(of);
    };
    EXPECT_LE(each(of_timelines, ops), 32);
    EXPECT_LE(each(of_transfers, transfers), 40) << "a transfer has two sides";
}

// For a complete step in which every rank waits before nearly every op.
TEST(ManySteps, InFullTakeFewBytesAnOp) {
    const bubblescope::Run run = runOf("1f1b", 16, 64, 8);
    DiagnosisOptions in_full;
    in_full.steps_in_full = true;
    const RunReport report = analyzeRun(run, in_full);
    const StepDiagnosis& diagnosis = report.typical;
    std::size_t bytes = diagnosis.attribution.bubbles.bytes() + roomOf(diagnosis.path.segments) +
                        roomOf(diagnosis.path.slack) + roomOf(*diagnosis.units);
    for (const auto& bubbles : report.steps[report.typicalStep()].bubbles)
        bytes += roomOf(bubbles);
    ASSERT_GT(diagnosis.attribution.bubbles.size(), diagnosis.units->size() / 2);
    EXPECT_LE(static_cast<double>(bytes) / static_cast<double>(diagnosis.units->size()), 78 + 12);
    for (const StepAnalysis& step : report.steps)
        EXPECT_FALSE(step.bubbles.empty());
}

TEST(AttributedBubbles, AreListedRankByRank) {
    const auto time = [](int ns) { return TimeNs{ns}; };
    const std::vector<AttributedBubble> bubbles{
        {Rank{1}, 4, time(1), time(9), time(2), Excess{RootCauseKind::LateStart, 7, time(5)}},
        {Rank{1}, 5, time(20), time(30), time(10), std::nullopt},
        {Rank{3}, kNoUnit, time(0), time(8), time(0),
         Excess{RootCauseKind::SlowStage, 0, TimeNs{std::int64_t{1} << 59}}},
    };
    AttributedBubbles list({0, 0, 2, 2, 3, 3}); // five ranks; three of them have none
    for (std::size_t i = bubbles.size(); i-- > 0;)
        list.set(i, bubbles[i]);
    EXPECT_EQ(list.size(), 3U);
    EXPECT_TRUE(std::ranges::equal(list, bubbles));
    EXPECT_TRUE(std::ranges::equal(list.of(Rank{1}), std::span(bubbles).first(2)));
    EXPECT_TRUE(std::ranges::equal(list.of(Rank{3}), std::span(bubbles).last(1)));
    for (const int rank : {-1, 0, 2, 4, 5})
        EXPECT_TRUE(std::ranges::empty(list.of(Rank{rank}))) << rank;
    list.acquit();
    for (const AttributedBubble& bubble : list) {
        EXPECT_EQ(bubble.usual, bubble.end - bubble.start);
        EXPECT_FALSE(bubble.cause);
    }
    EXPECT_TRUE(std::ranges::empty(AttributedBubbles()));
}

TEST(ManySteps, KnowTheOrderOfTheStepBefore) {
    const bubblescope::Run run = mixedRun();
    const RunReport report = analyzeRun(run);
    for (std::size_t s = 1; s < run.steps.size(); ++s) {
        const bool same = executedOrder(run.steps[s]).ranks == executedOrder(run.steps[s - 1]).ranks;
        EXPECT_EQ(report.steps[s].order_of_previous, same) << s;
    }
    EXPECT_FALSE(report.steps.front().order_of_previous);
}

TEST(ManySteps, PiecesOfLargeStepsAreFew) {
    EXPECT_EQ(stepPieces({}), 0U);
    std::vector<StepTimeline> steps(100);
    for (StepTimeline& step : steps)
        step.ranks.resize(1);
    EXPECT_GT(stepPieces(steps), 16U);
    steps.front().ranks.front().resize((1 << 20) + 1); // the first stands for all
    EXPECT_EQ(stepPieces(steps), 1U);
}

TEST(LargeStep, LeavesNoTimeOutOnSeveralCores) {
    const bubblescope::Run run = runOf("1f1b", 32, 700, 1); // 44,800 units
    const RunReport report = analyzeRun(run);
    const StepDiagnosis& diagnosis = report.typical;
    ASSERT_GT(diagnosis.units->size(), std::size_t{1} << 15);
    for (const RankAccounting& rank : diagnosis.accounting.ranks)
        EXPECT_EQ(rank.total(), run.steps.front().wall());
    TimeNs waits{0};
    std::pair<std::int32_t, TimeNs> before{0, TimeNs{-1}};
    for (const AttributedBubble& bubble : diagnosis.attribution.bubbles) {
        waits += bubble.end - bubble.start;
        EXPECT_LT(before, std::pair(bubble.rank.value, bubble.start)); // by rank, then time
        before = {bubble.rank.value, bubble.start};
    }
    const StepAttribution& blame = diagnosis.attribution;
    EXPECT_EQ(blame.usual + blame.attributed + blame.unexplained, waits);
    EXPECT_GT(blame.attributed, TimeNs{0});
    expectSame(diagnosis, analyzeRun(run).typical);
}

} // namespace
} // namespace bubblescope
