// Steps are divided into pieces that several threads analyse, and the parts of a large step likewise: what is found
// must not depend on where the borders lie.

#include "core/analysis/report.h"
#include "core/analysis/step_pieces.h"
#include "core/timeline/bubbles.h"
#include "tests/support/jittered_run.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

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

void expectSame(const StepDiagnosis& a, const StepDiagnosis& b) {
    EXPECT_EQ(*a.units, *b.units);
    EXPECT_EQ(a.accounting.ideal, b.accounting.ideal);
    EXPECT_EQ(a.path.slack, b.path.slack);
    ASSERT_EQ(a.accounting.ranks.size(), b.accounting.ranks.size());
    for (std::size_t r = 0; r < a.accounting.ranks.size(); ++r)
        EXPECT_EQ(a.accounting.ranks[r].causes, b.accounting.ranks[r].causes);
    EXPECT_EQ(a.attribution.usual, b.attribution.usual);
    EXPECT_EQ(a.attribution.attributed, b.attribution.attributed);
    EXPECT_EQ(a.attribution.unexplained, b.attribution.unexplained);
    ASSERT_EQ(a.attribution.ranking.size(), b.attribution.ranking.size());
    for (std::size_t i = 0; i < a.attribution.ranking.size(); ++i) {
        EXPECT_EQ(a.attribution.ranking[i].kind, b.attribution.ranking[i].kind);
        EXPECT_EQ(a.attribution.ranking[i].waits, b.attribution.ranking[i].waits);
        EXPECT_EQ(a.attribution.ranking[i].saves, b.attribution.ranking[i].saves);
    }
}

TEST(ManySteps, AreDiagnosedAlikeWhereverPiecesBegin) {
    const bubblescope::Run run = mixedRun();
    ASSERT_GT(stepPieces(run.steps), 8U);
    const StepSelection selection = selectSteps(run.steps);
    const std::vector<StepDiagnosis> all = diagnoseSteps(run, selection);
    constexpr std::size_t kFrom = 33; // other borders
    const std::vector<StepDiagnosis> later = diagnoseSteps(run, selection, TimeNs{0}, kFrom);
    ASSERT_EQ(later.size() + kFrom, all.size());
    for (std::size_t s = kFrom; s < all.size(); ++s)
        expectSame(all[s], later[s - kFrom]);
    const std::vector<StepDiagnosis> last = diagnoseSteps(run, selection, TimeNs{0}, all.size() - 1); // alone
    expectSame(all.back(), last.back());
}

TEST(ManySteps, OfOneOrderShareWhatTheirUnitsMean) {
    const bubblescope::Run run = runOf("1f1b", 4, 8, 64);
    std::set<const void*> lists;
    for (const StepDiagnosis& diagnosis : diagnoseSteps(run, selectSteps(run.steps)))
        lists.insert(diagnosis.units.get());
    EXPECT_EQ(lists.size(), 1U);
}

// Of a run in which every rank waits before nearly every op. What is counted is what lists have room for.
TEST(ManySteps, KeepFewBytesAnOp) {
    const bubblescope::Run run = runOf("1f1b", 16, 64, 8);
    const RunReport report = analyzeRun(run);
    const auto bytes = [](const auto& list) { return list.capacity() * sizeof(list.front()); };
    std::size_t ops = 0;
    std::size_t transfers = 0;
    std::size_t of_timelines = 0;
    std::size_t of_transfers = 0;
    std::size_t of_report = 0;
    std::size_t waits = 0;
    for (std::size_t s = 0; s < run.steps.size(); ++s) {
        for (std::size_t r = 0; r < run.steps[s].ranks.size(); ++r) {
            ops += run.steps[s].ranks[r].size();
            of_timelines += bytes(run.steps[s].ranks[r]);
            transfers += run.steps[s].comm[r].size();
            of_transfers += run.steps[s].comm[r].size() * sizeof(CommSpan);
            of_report += bytes(report.steps[s].bubbles[r]);
        }
        const StepDiagnosis& diagnosis = report.diagnoses[s];
        waits += diagnosis.attribution.bubbles.size();
        of_report +=
            bytes(diagnosis.attribution.bubbles) + bytes(diagnosis.path.segments) + bytes(diagnosis.path.slack);
        if (s == 0 || diagnosis.units != report.diagnoses[s - 1].units) of_report += bytes(*diagnosis.units);
    }
    ASSERT_GT(waits, ops / 2);
    const auto each = [](std::size_t all, std::size_t of) {
        return static_cast<double>(all) / static_cast<double>(of);
    };
    EXPECT_LE(each(of_timelines, ops), 64);
    EXPECT_LE(each(of_report, ops), 98);
    EXPECT_LE(each(of_transfers, transfers), 40) << "a transfer has two sides";
    RecordProperty("bytes_an_op", std::to_string(each(of_timelines + of_report, ops)));
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
    const StepDiagnosis& diagnosis = report.diagnoses.front();
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
    expectSame(diagnosis, analyzeRun(run).diagnoses.front());
}

} // namespace
} // namespace bubblescope
