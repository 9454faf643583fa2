// A long recording is judged part by part. The report on its steps must equal that of a complete load, and the
// findings must equal those of each part, wherever the borders are.

#include "core/analysis/steps/run_analyzer.h"
#include "core/live/long_run.h"

#include "core/report/json.h"
#include "core/report/results/analysis.h"
#include "tests/unit/live/recorded_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <string>

namespace bubblescope::live {
namespace {

using test::RecordedRanks;

constexpr int kSteps = 120;
constexpr WindowLimits kSmallParts{.steps = 24, .records = 1};

/// `ends`: the ranks state their end, as those do that are not killed.
void record(const test::JitteredRun& wanted, RecordedRanks& ranks, bool ends = true) {
    const auto run = test::makeJitteredRun(wanted, 5);
    for (int step = 0; step < wanted.steps; ++step) {
        for (int rank = 0; rank < ranks.ranks(); ++rank)
            ranks.write(rank, run.steps[static_cast<std::size_t>(step)], step);
    }
    for (int rank = 0; ends && rank < ranks.ranks(); ++rank)
        EXPECT_TRUE(ranks.writer(rank).appendEnd(0).ok());
}

DiagnosedRun inParts(const std::filesystem::path& folder, const DiagnosisOptions& options = {}) {
    JobControl control;
    auto result = diagnoseLongRun({folder}, options, kSmallParts, 1, control);
    EXPECT_TRUE(result.ok()) << result.error().text();
    EXPECT_TRUE(result.value().has_value());
    return std::move(*std::move(result).value());
}

DiagnosedRun whole(const std::filesystem::path& folder) {
    JobControl control;
    return diagnoseRun(loadRun({folder}, control).value()).value();
}

std::set<std::pair<AnomalyKind, int>> kindsAndRanks(const RunReport& report) {
    std::set<std::pair<AnomalyKind, int>> found;
    for (const Anomaly& anomaly : report.anomalies)
        found.emplace(anomaly.kind, anomaly.rank ? anomaly.rank->value : -1);
    return found;
}

const Anomaly* find(const RunReport& report, AnomalyKind kind) {
    const auto found = std::ranges::find(report.anomalies, kind, &Anomaly::kind);
    return found == report.anomalies.end() ? nullptr : &*found;
}

TEST(LongRun, ReportsOfEachStepWhatAWholeLoadDoes) {
    const auto wanted = test::fourRanks(kSteps);
    RecordedRanks ranks(test::infoOf(wanted));
    record(wanted, ranks);
    const DiagnosedRun parts = inParts(ranks.dir());
    const DiagnosedRun all = whole(ranks.dir());
    EXPECT_EQ(parts.report.windows(), 5U);
    EXPECT_EQ(all.report.windows(), 1U);
    EXPECT_EQ(parts.run.schedule.name, all.run.schedule.name);
    EXPECT_EQ(parts.run.schedule.ranks, all.run.schedule.ranks);
    EXPECT_EQ(parts.run.slices, all.run.slices);
    EXPECT_EQ(parts.run.files, all.run.files);
    EXPECT_EQ(parts.run.explanation.evidence, all.run.explanation.evidence);
    EXPECT_TRUE(parts.run.problems.empty());
    ASSERT_EQ(parts.run.steps.size(), all.run.steps.size());
    for (std::size_t s = 0; s < all.run.steps.size(); ++s) {
        SCOPED_TRACE(s);
        EXPECT_EQ(parts.run.steps[s].index, all.run.steps[s].index);
        EXPECT_EQ(parts.run.steps[s].hasOps(), s == parts.report.typicalStep());
        const StepAnalysis& a = parts.report.steps[s];
        const StepAnalysis& b = all.report.steps[s];
        EXPECT_EQ(a.wall, b.wall);
        EXPECT_EQ(a.rates.over_makespan, b.rates.over_makespan);
        EXPECT_EQ(a.form->bubble_rate, b.form->bubble_rate);
        for (std::size_t r = 0; r < 4; ++r) {
            EXPECT_EQ(a.ranks[r].busy, b.ranks[r].busy);
            EXPECT_EQ(a.ranks[r].expected_bubble, b.ranks[r].expected_bubble);
        }
        TimeNs sum{0};
        for (const RankAccounting& account : parts.report.accounts[s].ranks.list()) {
            sum = TimeNs{0};
            for (const TimeNs part : account.compute)
                sum += part;
            for (const TimeNs part : account.causes)
                sum += part;
            EXPECT_EQ(sum, a.wall); // nothing is left over in any part
        }
    }
}

TEST(LongRun, ShowsAStepNearTheMedianInFull) {
    const auto wanted = test::fourRanks(kSteps);
    RecordedRanks ranks(test::infoOf(wanted));
    record(wanted, ranks);
    const DiagnosedRun parts = inParts(ranks.dir());
    const DiagnosedRun all = whole(ranks.dir());
    const TimeNs off = std::chrono::abs(parts.report.selection.stepTime() - all.report.selection.stepTime());
    EXPECT_LT(off, all.report.selection.stepTime() / 100);
    const std::size_t shown = parts.report.typicalStep();
    EXPECT_EQ(parts.report.selection.stepTime(), parts.run.steps[shown].wall());
    EXPECT_EQ(parts.run.steps[shown].opCount(), all.run.steps[shown].opCount());
    EXPECT_FALSE(parts.report.steps[shown].bubbles.empty());
    EXPECT_FALSE(parts.report.typical.units->empty());
    for (std::size_t i = 0; i < all.report.stages.size(); ++i) {
        const auto work = [i](const DiagnosedRun& run) {
            return static_cast<double>(run.report.stages[i].work().count());
        };
        EXPECT_NEAR(work(parts) / work(all), 1, 0.01);
    }
}

TEST(LongRun, FindsWhatBeginsInSomePartAndCountsItOverAll) {
    constexpr int kOnset = 40; // inside a part
    const auto wanted = test::fourRanksWithASlowOne(kSteps, kOnset, 1.5);
    RecordedRanks ranks(test::infoOf(wanted));
    record(wanted, ranks);
    const DiagnosedRun parts = inParts(ranks.dir());
    EXPECT_EQ(kindsAndRanks(parts.report), kindsAndRanks(whole(ranks.dir()).report));
    const Anomaly* const change = find(parts.report, AnomalyKind::StepTimeChange);
    ASSERT_NE(change, nullptr);
    EXPECT_EQ(change->step, kOnset);
    EXPECT_EQ(change->seen.steps, kSteps - kOnset);
    const Anomaly* const onset = find(parts.report, AnomalyKind::Straggler);
    ASSERT_NE(onset, nullptr);
    EXPECT_EQ(onset->rank, Rank{2});
    EXPECT_EQ(onset->seen.first, kOnset);
    EXPECT_EQ(onset->seen.steps, kSteps - kOnset); // of later parts, too, which never saw it begin
    EXPECT_EQ(onset->seen.since_first, kSteps - kOnset);
    EXPECT_TRUE(onset->seen.goes_on);
    const Anomaly* const slow = find(parts.report, AnomalyKind::SlowStage);
    ASSERT_NE(slow, nullptr);
    EXPECT_EQ(slow->rank, Rank{2});
    EXPECT_EQ(slow->seen.of_steps, kSteps);
    EXPECT_LT(slow->seen.steps, kSteps); // not in the first part
    EXPECT_TRUE(slow->seen.goes_on);
}

TEST(LongRun, FindsSingleSlowOpsInEachPart) {
    auto wanted = test::fourRanks(kSteps);
    const std::set<int> with{5, 60, 61, 116};
    wanted.op_factor = [&](int step, Rank rank, const Op& op) {
        return with.contains(step) && rank == Rank{1} && op.kind == OpKind::Forward && op.microbatch.value == 3 ? 6.0
                                                                                                                : 1.0;
    };
    RecordedRanks ranks(test::infoOf(wanted));
    record(wanted, ranks);
    const DiagnosedRun parts = inParts(ranks.dir());
    const Anomaly* const slow = find(parts.report, AnomalyKind::SlowOp);
    ASSERT_NE(slow, nullptr);
    EXPECT_EQ(slow->rank, Rank{1});
    EXPECT_EQ(slow->seen.steps, static_cast<int>(with.size()));
    EXPECT_EQ(slow->seen.cases, static_cast<std::int64_t>(with.size()));
    EXPECT_EQ(slow->seen.of_steps, kSteps);
    EXPECT_EQ(slow->seen.first, 5);
    EXPECT_EQ(slow->seen.last, 116);
    EXPECT_EQ(slow->seen.latest & 1U, 1U);
    EXPECT_EQ((slow->seen.latest >> 55) & 3U, 3U); // steps 61 and 60
}

TEST(LongRun, ShowsTheStepThatIsAskedFor) {
    const auto wanted = test::fourRanks(kSteps);
    RecordedRanks ranks(test::infoOf(wanted));
    record(wanted, ranks);
    DiagnosisOptions options;
    options.request.steps = parseStepRanges("81").value();
    const DiagnosedRun asked = inParts(ranks.dir(), options);
    EXPECT_EQ(asked.run.steps[asked.report.typicalStep()].index, 81);
    EXPECT_TRUE(asked.run.steps[asked.report.typicalStep()].hasOps());
    EXPECT_EQ(asked.report.selection.taken(), 1U);

    options.request.steps = parseStepRanges("700").value();
    JobControl control;
    const auto missing = diagnoseLongRun({ranks.dir()}, options, kSmallParts, 1, control);
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().kind, ErrorKind::Usage);
}

TEST(LongRun, ShowsTheReplicaThatIsAskedForWhereAPartLacksAnother) {
    auto wanted = test::fourRanks(kSteps);
    RunInfo info = test::infoOf(wanted);
    info.dp = 2;
    RecordedRanks ranks(info);
    const auto run = test::makeJitteredRun(wanted, 5);
    for (int step = 0; step < kSteps; ++step) {
        for (int rank = 0; rank < ranks.ranks(); ++rank) {
            const bool is_lost = rank % 2 == 1 && step >= 24 && step < 96; // of replica 1
            if (!is_lost) ranks.write(rank, run.steps[static_cast<std::size_t>(step)], step);
        }
    }
    for (int rank = 0; rank < ranks.ranks(); ++rank)
        EXPECT_TRUE(ranks.writer(rank).appendEnd(0).ok());
    DiagnosisOptions options;
    options.request.replicas = {0, 1};
    options.request.steps = parseStepRanges("60").value();
    const DiagnosedRun asked = inParts(ranks.dir(), options);
    EXPECT_EQ(asked.run.steps[asked.report.typicalStep()].index, 60);
    EXPECT_EQ(asked.run.steps[asked.report.typicalStep()].replica, 0);
    options.request.replicas = {1};
    options.request.steps = {};
    const DiagnosedRun second = inParts(ranks.dir(), options);
    EXPECT_EQ(second.run.steps[second.report.typicalStep()].replica, 1);
    EXPECT_TRUE(second.run.steps[second.report.typicalStep()].hasOps());
}

TEST(LongRun, TakesWhatRanksLeftThatWereKilled) {
    const auto wanted = test::fourRanks(kSteps);
    const auto run = test::makeJitteredRun(wanted, 5);
    RecordedRanks ranks(test::infoOf(wanted));
    record(wanted, ranks, false);
    ranks.write(0, run.steps.back(), kSteps); // of a step that the others did not record
    const DiagnosedRun parts = inParts(ranks.dir());
    EXPECT_EQ(parts.run.steps.size(), static_cast<std::size_t>(kSteps));
    EXPECT_TRUE(
        std::ranges::any_of(parts.run.problems, [](const Diagnostic& one) { return one.kind == "incomplete-step"; }));
}

TEST(LongRun, MakesEveryDocument) {
    const auto wanted = test::fourRanksWithASlowOne(kSteps, 40, 1.5);
    RecordedRanks ranks(test::infoOf(wanted));
    record(wanted, ranks);
    const DiagnosedRun parts = inParts(ranks.dir());
    report::AnalysisOptions content;
    content.reader = report::Reader::Programs;
    const std::string json = report::toJson(report::analysisDocument(parts.run, parts.report, content));
    EXPECT_THAT(json, testing::HasSubstr("\"parts\": 5"));
    content.reader = report::Reader::Text;
    EXPECT_FALSE(report::analysisDocument(parts.run, parts.report, content).blocks.empty());
    content.reader = report::Reader::Page;
    EXPECT_FALSE(report::analysisDocument(parts.run, parts.report, content).blocks.empty());
}

TEST(LongRun, LeavesToAWholeLoadWhatIsShortOrNotARecordingOfOurs) {
    const auto wanted = test::fourRanks(kSteps);
    RecordedRanks ranks(test::infoOf(wanted));
    record(wanted, ranks);
    JobControl control;
    const auto isLeft = [&](const std::filesystem::path& path, const WindowLimits& limits, std::uint64_t least = 1) {
        const auto result = diagnoseLongRun({path}, {}, limits, least, control);
        EXPECT_TRUE(result.ok());
        return !result.value().has_value();
    };
    EXPECT_TRUE(isLeft(ranks.dir(), {}));                     // one part
    EXPECT_TRUE(isLeft(ranks.dir(), kSmallParts, 1U << 30));  // small
    EXPECT_TRUE(isLeft(ranks.writer(0).path(), kSmallParts)); // a file
    EXPECT_FALSE(isLeft(ranks.dir(), kSmallParts));
    const test::ScratchFolder other;
    other.write("a.json", R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}])");
    EXPECT_TRUE(isLeft(other.path(), kSmallParts));
}

TEST(LongRun, JudgesFewLargeStepsAtATime) {
    constexpr WindowLimits kLimits{.steps = 256, .records = 100, .large_steps = 4, .large_records = 1000};
    EXPECT_FALSE(kLimits.isFull(255, 900));
    EXPECT_TRUE(kLimits.isFull(256, 100));
    EXPECT_FALSE(kLimits.isFull(256, 99));
    EXPECT_TRUE(kLimits.isFull(4, 1000));
    EXPECT_FALSE(kLimits.isFull(3, 1000));
}

TEST(LongRun, StopsWhereverItIsAskedTo) {
    const auto wanted = test::fourRanks(kSteps);
    RecordedRanks ranks(test::infoOf(wanted));
    record(wanted, ranks);
    for (int at = 1;; at += 7) {
        std::stop_source stop;
        JobControl control;
        control.stop = stop.get_token();
        std::atomic<int> checks{0}; // parts are judged on all cores
        control.at_check = [&] {
            if (++checks == at) stop.request_stop();
        };
        const auto result = diagnoseLongRun({ranks.dir()}, {}, kSmallParts, 1, control);
        if (result.ok()) { // it was through before
            EXPECT_GT(at, 20);
            EXPECT_LT(checks, at);
            break;
        }
        EXPECT_EQ(result.error().kind, ErrorKind::Cancelled);
    }
}

} // namespace
} // namespace bubblescope::live
