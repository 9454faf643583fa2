#include "core/analysis/steps/run_analyzer.h"
#include "core/report/results/analysis.h"

#include "core/report/document.h"
#include "core/report/html.h"

#include "tests/support/jittered_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace bubblescope {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string pageOf(const Run& run, const RunReport& report, report::AnalysisOptions options) {
    options.reader = report::Reader::Page;
    return report::toHtml(report::analysisDocument(run, report, options));
}

Run slowStageRun() {
    test::JitteredRun wanted;
    wanted.spec.name = "1f1b";
    wanted.spec.pp = 4;
    wanted.spec.microbatches = 8;
    wanted.op_factor = [](int, Rank rank, const Op&) { return rank.value == 3 ? 2.5 : 1.0; };
    auto run = makeJitteredRun(wanted, 5);
    run.files = {"folder/trace.json"};
    run.problems = {{"spilled", 3, say("folder/trace.json:12"), say("slices overlap")}};
    return run;
}

TEST(AnalysisPage, HoldsEverySectionAndTheReportsNumbers) {
    const auto run = slowStageRun();
    const RunReport report = analyzeRun(run);
    report::AnalysisOptions options;
    options.version = "9.9";
    const std::string page = pageOf(run, report, options);
    for (const char* const section :
         {"Findings", "Timeline", "Where the time went", "Accounting", "Causes of the longer step", "Causes of waiting",
          "Time of steps", "Steps", "Op times by stage", "Bubbles compared with the closed form", "Bubbles by position",
          "Problems of the files"}) {
        EXPECT_THAT(page, HasSubstr(std::string("<h2>") + section));
    }
    const StepAnalysis& step = report.steps[report.typicalStep()];
    EXPECT_THAT(page, HasSubstr(formatTime(step.wall)));
    const auto imbalance = [](const RankAccounting& rank) {
        return rank.causes[static_cast<std::size_t>(Cause::Imbalance)];
    };
    TimeNs largest{0};
    for (const RankAccounting& rank : report.accounts[report.typicalStep()].ranks)
        largest = std::max(largest, TimeNs{std::abs(imbalance(rank).count())});
    for (const RankAccounting& rank : report.accounts[report.typicalStep()].ranks)
        EXPECT_THAT(page, HasSubstr(report::timeBeside(imbalance(rank), largest)));
    EXPECT_THAT(page, HasSubstr("rank 3, chunk 0: slow stage"));
    ASSERT_FALSE(report.anomalies.empty());
    EXPECT_THAT(page, HasSubstr(std::string(anomalyKindName(report.anomalies.front().kind))));
    for (const RankAccount& rank : step.ranks)
        EXPECT_THAT(page, HasSubstr(formatTime(rank.bubble)));
    EXPECT_THAT(page, HasSubstr("slices overlap"));
    EXPECT_THAT(page, HasSubstr("Bubblescope 9.9"));
    // Both drawings: as it was, and with equal stages.
    EXPECT_THAT(page, HasSubstr("Observed, step"));
    EXPECT_THAT(page, HasSubstr("Equal stages, free transfers"));
    EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(AnalysisPage, ShowsTheStepThatWasAskedFor) {
    const auto run = slowStageRun();
    const int index = run.steps[analyzeRun(run).typicalStep() == 2 ? 3 : 2].index;
    DiagnosisOptions asked;
    asked.request.steps = {{index, index, {}}};
    const std::string page = pageOf(run, analyzeRun(run, asked), {});
    EXPECT_THAT(page, HasSubstr("Observed, step " + std::to_string(index)));
}

TEST(AnalysisPage, SaysWhenRanksAreLeftOutOfTheDrawing) {
    const auto run = slowStageRun();
    report::AnalysisOptions options;
    options.most_rows = 2;
    EXPECT_THAT(pageOf(run, analyzeRun(run), options), HasSubstr("Only the first 2 ranks are drawn"));
}

} // namespace
} // namespace bubblescope
