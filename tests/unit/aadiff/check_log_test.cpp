#include "core/aadiff/coverage.h"
#include "core/aadiff/mismatch.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/recognise/run.h"
#include "core/report/html.h"
#include "core/report/results/analysis.h"
#include "tests/support/checked_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope {
namespace {

std::string pageOf(const Run& run, const RunReport& report) {
    report::AnalysisOptions options;
    options.reader = report::Reader::Page;
    return report::toHtml(report::analysisDocument(run, report, options));
}

using test::CheckedRun;
using testing::HasSubstr;

/// A replay of a rank's op in one of its bubbles.
CheckRecord replayOf(const StepTimeline& step, int rank, OpKind kind, int layer, CheckOutcome outcome) {
    CheckRecord check;
    check.outcome = outcome;
    check.step = step.index;
    check.rank = Rank{rank};
    check.op = {kind, Microbatch{0}, Chunk{0}};
    check.layer = layer;
    check.tensor = "output";
    check.first = check.second = 0x123;
    if (outcome == CheckOutcome::Mismatch) {
        check.second = 0x124;
        check.difference = TensorDifference{4096, 3, 17, 0x3f800000, 0x3f800001, 1};
    }
    const std::vector<TimelineOp>& ops = step.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 1; i < ops.size(); ++i) {
        if (ops[i].start <= ops[i - 1].end) continue;
        check.start = ops[i - 1].end;
        check.end = outcome == CheckOutcome::Skipped ? check.start : check.start + TimeNs{100'000};
        break;
    }
    return check;
}

class CheckFiles : public testing::Test {
protected:
    Result<bubblescope::Run> load(const std::string& name = "run") {
        JobControl control;
        return loadRun({folder_.path() / name}, control);
    }
    RunReport analysed(const bubblescope::Run& run) { return diagnoseRun(run).value().report; }

    test::ScratchFolder folder_;
};

TEST_F(CheckFiles, ComeBackAsTheyWere) {
    CheckedRun run;
    const auto steps = run.timelines();
    CheckRecord all = replayOf(steps[1], 2, OpKind::Backward, 5, CheckOutcome::Mismatch);
    all.op.sequence = 3;
    all.verdict = Verdict::Device;
    all.difference->ulp.reset();
    CheckRecord known;
    known.kind = CheckKind::KnownAnswer;
    known.outcome = CheckOutcome::Equal;
    known.tensor = "product";
    known.first = known.second = ~std::uint64_t{0};
    known.start = TimeNs{5};
    known.end = TimeNs{10};
    run.checks = {known, all, replayOf(steps[1], 3, OpKind::Forward, 6, CheckOutcome::Skipped)};
    run.write(folder_, "run");
    auto loaded = load();
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    const CheckLog& log = loaded.value().checks;
    ASSERT_EQ(log.checks.size(), 3U);
    EXPECT_TRUE(loaded.value().problems.empty());
    const CheckRecord& back = log.checks[1];
    EXPECT_EQ(back.kind, CheckKind::Replay);
    EXPECT_EQ(back.outcome, CheckOutcome::Mismatch);
    EXPECT_EQ(back.verdict, Verdict::Device);
    EXPECT_EQ(back.step, 1);
    EXPECT_EQ(back.rank, Rank{2});
    EXPECT_EQ(back.op, all.op);
    EXPECT_EQ(back.layer, 5);
    EXPECT_EQ(back.tensor, "output");
    EXPECT_EQ(back.first, all.first);
    EXPECT_EQ(back.second, all.second);
    EXPECT_EQ(back.start, all.start);
    EXPECT_EQ(back.end, all.end);
    ASSERT_TRUE(back.difference);
    EXPECT_EQ(back.difference->first_bits, 0x3f800000U);
    EXPECT_EQ(back.difference->differing, 3);
    EXPECT_FALSE(back.difference->ulp);
    EXPECT_EQ(log.checks[0].first, known.first);
    EXPECT_EQ(log.checks[2].outcome, CheckOutcome::Skipped);
    EXPECT_EQ(log.checks[2].start, log.checks[2].end);
    EXPECT_EQ(log.digests.size(), run.digests().size());

    JobControl control;
    const auto alone = loadChecks({folder_.path() / "run" / "checks.pftrace"}, control); // without ops
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ(alone.value().log.digests.size(), run.digests().size());
    EXPECT_FALSE(alone.value().info);
    EXPECT_FALSE(loadChecks({folder_.path() / "run" / "ops.pftrace"}, control).ok());
}

TEST_F(CheckFiles, CountWhatTheyCannotUse) {
    CheckedRun run;
    run.write(folder_, "run", false);
    perfetto::Encoder encoder(5);
    encoder.clockSnapshot(TimeNs{0});
    encoder.process(1, 1, "rank 0", 0);
    encoder.track(2, 1, "replay", 0);
    encoder.process(3, 99, "somebody", 0);
    encoder.track(4, 3, "replay", 0);
    const auto check = [&](std::uint64_t track, std::string_view kind, std::string_view first, std::int64_t layer,
                           std::string_view outcome = "equal") {
        const std::vector<perfetto::Arg> args{{"check", kind},
                                              {"outcome", outcome},
                                              {"kind", std::string_view("F")},
                                              {"microbatch", std::int64_t{0}},
                                              {"chunk", std::int64_t{0}},
                                              {"step", std::int64_t{0}},
                                              {"layer", layer},
                                              {"first", first},
                                              {"second", first},
                                              {"tensor", std::string_view("output")}};
        encoder.instant(track, TimeNs{10}, "check", "F0.0 layer 0", args);
    };
    check(2, "replay", "00ff", 0); // fine
    check(2, "prophecy", "00ff", 0);
    check(2, "replay", "00ff", 0, "perhaps");
    check(2, "replay", "no digits", 0);
    check(2, "replay", "00ff", -1);
    check(2, "replay", "00ff", std::int64_t{1} << 40);
    check(4, "replay", "00ff", 0); // of no rank
    const std::vector<perfetto::Arg> lacking{{"kind", std::string_view("F")}};
    encoder.instant(2, TimeNs{11}, "digest", "F0.0 layer 0", lacking);
    folder_.write("run/bad.pftrace", encoder.take());
    auto loaded = load();
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    EXPECT_EQ(loaded.value().checks.checks.size(), 1U);
    std::int64_t bad = 0;
    for (const Diagnostic& problem : loaded.value().problems)
        bad += problem.kind == "bad-check" ? problem.count : 0;
    EXPECT_EQ(bad, 7);
}

TEST_F(CheckFiles, LeaveOutRanksWithoutOps) {
    CheckedRun run;
    run.spec = {"1f1b", "", 2, 4, 1};
    CheckedRun wide;
    wide.checks = {replayOf(wide.timelines()[0], 3, OpKind::Forward, 6, CheckOutcome::Equal)};
    run.write(folder_, "run", false);
    folder_.write("run/other.pftrace", wide.checkFile(wide.checks, {}));
    const auto loaded = load();
    ASSERT_TRUE(loaded.ok());
    EXPECT_TRUE(loaded.value().checks.empty());
    ASSERT_EQ(loaded.value().problems.size(), 1U);
    EXPECT_EQ(loaded.value().problems.front().kind, "stray-check");
}

TEST_F(CheckFiles, FillBubblesWithReplays) {
    CheckedRun run;
    const auto steps = run.timelines();
    run.checks = {replayOf(steps[0], 0, OpKind::Forward, 0, CheckOutcome::Equal),
                  replayOf(steps[0], 1, OpKind::Forward, 2, CheckOutcome::Equal)};
    run.checks[1].end = run.checks[1].start + steps[0].wall(); // runs on over ops and bubbles
    run.write(folder_, "run", false);
    auto loaded = load();
    ASSERT_TRUE(loaded.ok());
    const RunReport report = analysed(loaded.value());
    EXPECT_EQ(report.steps[0].ranks[0].replay, TimeNs{100'000});
    EXPECT_GT(report.steps[0].ranks[0].bubble, TimeNs{100'000});
    EXPECT_GT(report.steps[0].ranks[1].replay, TimeNs{0});
    EXPECT_LE(report.steps[0].ranks[1].replay, report.steps[0].ranks[1].bubble);
    EXPECT_EQ(report.steps[0].ranks[2].replay, TimeNs{0});
    EXPECT_EQ(report.steps[1].ranks[0].replay, TimeNs{0});
}

TEST_F(CheckFiles, BlameReplaysForWhatTheyDelay) {
    CheckedRun run;
    std::vector<StepTimeline> steps = run.timelines();
    // The last rank's ops from the third on start 300 us later, since it replayed: all wait for it.
    CheckRecord late;
    for (StepTimeline& step : steps) {
        const TimeNs from = step.ranks[3][2].start;
        if (step.index == 0) {
            late = replayOf(steps[0], 0, OpKind::Forward, 6, CheckOutcome::Equal);
            late.rank = Rank{3};
            late.start = from;
            late.end = from + TimeNs{300'000};
        }
        for (auto& rank : step.ranks) {
            for (TimelineOp& op : rank) {
                if (op.start < from || step.index != 0) continue;
                op.start += TimeNs{300'000};
                op.end += TimeNs{300'000};
            }
        }
        step.fitWindow();
    }
    bubblescope::Run direct;
    direct.schedule = run.schedule();
    direct.steps = steps;
    direct.checks.checks = {late};
    const RunReport report = analyzeRun(direct);
    const StepAccounting& account = report.accounts[0];
    EXPECT_EQ(account.ranks[3].causes[static_cast<std::size_t>(Cause::Replay)], TimeNs{300'000});
    EXPECT_EQ(report.accounts[1].ranks[3].causes[static_cast<std::size_t>(Cause::Replay)], TimeNs{0});
}

TEST_F(CheckFiles, TellWhatIsCoveredAndWhatIsNot) {
    CheckedRun run; // 4 ranks of 2 layers: 16 units of F and B
    const auto steps = run.timelines();
    run.checks = {replayOf(steps[0], 0, OpKind::Forward, 0, CheckOutcome::Equal),
                  replayOf(steps[1], 0, OpKind::Forward, 0, CheckOutcome::Equal),
                  replayOf(steps[0], 0, OpKind::Forward, 1, CheckOutcome::Aborted),
                  replayOf(steps[0], 1, OpKind::Backward, 2, CheckOutcome::Skipped)};
    run.write(folder_, "run"); // digests tell the layers
    auto loaded = load();
    ASSERT_TRUE(loaded.ok());
    const RunReport report = analysed(loaded.value());
    ASSERT_TRUE(report.coverage);
    const CheckCoverage& coverage = *report.coverage;
    EXPECT_EQ(coverage.units.size(), 16U);
    EXPECT_EQ(coverage.unitsThatAre(Covered::Yes), 1);
    EXPECT_EQ(coverage.unitsThatAre(Covered::NotYet), 2);
    EXPECT_EQ(coverage.unitsThatAre(Covered::Never), 13);
    EXPECT_EQ(coverage.of(CheckKind::Replay).planned(), 4);
    EXPECT_EQ(coverage.of(CheckKind::Replay).done(), 2);
    EXPECT_EQ(coverage.units.front().last_step, 1);
    EXPECT_EQ(coverage.devices, 4);
    EXPECT_EQ(coverage.steps, 2);
    // 2 halves of a forward of 1 ms, of 2 steps with 4 ranks of 4 forwards and 4 backwards of 2 ms.
    EXPECT_EQ(coverage.replayed, TimeNs{1'000'000});
    EXPECT_EQ(coverage.work, TimeNs{2 * 4 * 4 * 3'000'000});

    const auto unchecked = std::ranges::find(report.anomalies, AnomalyKind::AadiffUnchecked, &Anomaly::kind);
    ASSERT_NE(unchecked, report.anomalies.end());
    EXPECT_EQ(unchecked->severity, Severity::Warning);
    EXPECT_THAT(unchecked->message.text(), HasSubstr("15 of 16 work units unchecked after 2 steps"));
    EXPECT_THAT(pageOf(loaded.value(), report), HasSubstr("Checks in bubbles"));
    EXPECT_THAT(pageOf(loaded.value(), report), HasSubstr("in checks"));
}

TEST_F(CheckFiles, SayNothingWhereThereAreNoChecks) {
    CheckedRun run;
    run.write(folder_, "run");
    auto loaded = load();
    ASSERT_TRUE(loaded.ok());
    const RunReport report = analysed(loaded.value());
    EXPECT_FALSE(report.coverage);
    EXPECT_EQ(std::ranges::find(report.anomalies, AnomalyKind::AadiffUnchecked, &Anomaly::kind),
              report.anomalies.end());
    EXPECT_EQ(pageOf(loaded.value(), report).find("Checks in bubbles"), std::string::npos);
}

TEST_F(CheckFiles, MakeMismatchesFindings) {
    CheckedRun run;
    const auto steps = run.timelines();
    for (const Verdict verdict : {Verdict::Open, Verdict::Transient, Verdict::Device, Verdict::Everywhere}) {
        CheckRecord check = replayOf(steps[1], static_cast<int>(verdict), OpKind::Forward,
                                     2 * static_cast<int>(verdict), CheckOutcome::Mismatch);
        check.verdict = verdict;
        run.checks.push_back(check);
        if (verdict != Verdict::Device) continue;
        check.start += TimeNs{200'000}; // repeated
        check.end += TimeNs{200'000};
        run.checks.push_back(check);
    }
    run.write(folder_, "run", false);
    auto loaded = load();
    ASSERT_TRUE(loaded.ok());
    const RunReport report = analysed(loaded.value());
    std::vector<Anomaly> found;
    std::ranges::copy_if(report.anomalies, std::back_inserter(found),
                         [](const Anomaly& a) { return a.kind == AnomalyKind::AadiffMismatch; });
    ASSERT_EQ(found.size(), 4U);
    for (const Anomaly& anomaly : found) {
        const bool code = anomaly.rank->value == static_cast<int>(Verdict::Everywhere);
        EXPECT_EQ(anomaly.severity, code ? Severity::Warning : Severity::Serious);
        EXPECT_THAT(anomaly.message.text(),
                    HasSubstr("3 of 4096 elements differ, the first at 17: 3f800000 and 3f800001, bit 0 "
                              "flipped, 1 ulp apart"));
        EXPECT_EQ(anomaly.step, 1);
        EXPECT_EQ(anomaly.message.text().find("the first of 2") != std::string::npos,
                  anomaly.rank->value == static_cast<int>(Verdict::Device));
        EXPECT_EQ(anomaly.suggestion.text().find("hardware") != std::string::npos, code);
    }
    EXPECT_THAT(pageOf(loaded.value(), report), HasSubstr("suspect the hardware"));
}

TEST(Mismatch, NamesDeviceAndBits) {
    CheckRecord check;
    check.step = 7;
    check.rank = Rank{2};
    check.replica = 1;
    check.op = {OpKind::BackwardWeight, Microbatch{3}, Chunk{1}};
    check.layer = 5;
    check.tensor = "weight gradient";
    check.first = 1;
    check.second = 2;
    EXPECT_EQ(mismatchPlace(check, {"node7", "GPU-3f"}).text(),
              "step 7, rank 2 of replica 1 (device GPU-3f of host node7), W3.1 of layer 5, weight gradient");
    EXPECT_THAT(differenceText(check).text(), HasSubstr("digests 0000000000000001 and 0000000000000002"));
    check.difference = TensorDifference{8, 1, 0, 0x7fc00000, 0x3fc00000, std::nullopt};
    EXPECT_EQ(flippedBits(*check.difference), std::vector<int>{30});
    EXPECT_THAT(differenceText(check).text(), HasSubstr("bit 30 flipped, one of them NaN"));
}

TEST(FaultOdds, FollowThePublishedRates) {
    // Llama 3: 6 in 54 days on 16,384 devices; AEGIS: 18 in 3.5e7 device hours.
    EXPECT_NEAR(publishedRates().front().perDay(16'384), 6.0 / 54, 1e-12);
    EXPECT_NEAR(1 / publishedRates().back().perDay(1000), 81.0, 0.1);
    const FaultOdds odds = faultOdds(1000, 0.25);
    EXPECT_LT(odds.faults.low, odds.faults.high);
    EXPECT_DOUBLE_EQ(odds.caught.low, 0.25 * odds.faults.low);
    EXPECT_DOUBLE_EQ(odds.caught.high, 0.25 * odds.faults.high);
    EXPECT_EQ(faultOdds(1000, 0).caught.high, 0);
}

} // namespace
} // namespace bubblescope
