// Which steps and ranks a page's zoomable timeline has room for.

#include "core/analysis/steps/run_analyzer.h"
#include "core/report/results/zoom.h"

#include "tests/support/jittered_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope::report {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A rank's op takes very long in step 7.
Run runWithAHiccup() {
    test::JitteredRun wanted;
    wanted.spec = {"1f1b", "", 4, 8, 1};
    wanted.steps = 12;
    wanted.op_factor = [](int step, Rank rank, const Op& op) {
        return step == 7 && rank == Rank{2} && op.kind == OpKind::Forward && op.microbatch.value == 3 ? 20.0 : 1.0;
    };
    return test::makeJitteredRun(wanted, 5);
}

std::size_t itemsIn(const ZoomTimeline& timeline) {
    std::size_t items = 0;
    for (const auto& step : timeline.steps) {
        for (const auto& row : step.rows)
            items += row.items.size();
    }
    return items;
}

TEST(ZoomTimeline, HoldsAllStepsWhereThereIsRoom) {
    const auto run = runWithAHiccup();
    const RunReport report = analyzeRun(run);
    const ZoomTimeline timeline = zoomTimeline(run, report);
    EXPECT_EQ(timeline.steps.size(), run.steps.size());
    const StepTimeline& typical = run.steps[report.typicalStep()];
    EXPECT_EQ(timeline.steps.front().name, "step " + std::to_string(typical.index)) << "the typical one is shown first";
    EXPECT_GE(timeline.steps.front().length, typical.wall());
    EXPECT_THAT(timeline.note, HasSubstr("12 of 12 steps"));
    EXPECT_THAT(timeline.note, Not(HasSubstr("room")));
    for (const auto& step : timeline.steps) {
        for (const auto& row : step.rows) {
            EXPECT_TRUE(std::ranges::is_sorted(row.items, {}, &ZoomTimeline::Item::start));
            for (const auto& item : row.items) {
                EXPECT_LT(item.kind, timeline.kinds.size());
                EXPECT_GE(item.start, TimeNs{0});
                EXPECT_LE(item.start + item.length, step.length);
            }
        }
    }
}

TEST(ZoomTimeline, StepsThatFindingsNameComeFirst) {
    const auto run = runWithAHiccup();
    const RunReport report = analyzeRun(run);
    ASSERT_TRUE(std::ranges::any_of(report.anomalies, [](const Anomaly& one) { return one.step == 7; }));
    const std::size_t all = itemsIn(zoomTimeline(run, report));
    const ZoomTimeline some = zoomTimeline(run, report, all / 4);
    EXPECT_LE(itemsIn(some), all / 4);
    EXPECT_LT(some.steps.size(), run.steps.size());
    EXPECT_TRUE(std::ranges::any_of(some.steps, [](const auto& step) { return step.name == "step 7"; }));
    EXPECT_THAT(some.note, HasSubstr("steps with findings come first"));
}

TEST(ZoomTimeline, OfALargeStepTheRanksThatFindingsNameAreThere) {
    const auto run = runWithAHiccup();
    const RunReport report = analyzeRun(run);
    const ZoomTimeline one = zoomTimeline(run, report, 1);
    ASSERT_EQ(one.steps.size(), 1U);
    ASSERT_FALSE(one.steps.front().rows.empty());
    EXPECT_EQ(one.steps.front().rows.front().name, "rank 2");
    EXPECT_THAT(one.note, HasSubstr("3 ranks are omitted"));
}

TEST(ZoomTimeline, IsEmptyWithoutSteps) {
    EXPECT_TRUE(zoomTimeline(bubblescope::Run{}, RunReport{}).steps.empty());
}

} // namespace
} // namespace bubblescope::report
