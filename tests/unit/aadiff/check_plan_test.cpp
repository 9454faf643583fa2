#include "core/aadiff/check_plan.h"

#include "core/aadiff/coverage.h"
#include "tests/support/jittered_run.h"

#include <gtest/gtest.h>

namespace bubblescope {
namespace {

std::vector<StepTimeline> recordedSteps(const std::string& family, int vpp = 1) {
    test::JitteredRun wanted;
    wanted.spec = {family, "", 4, 8, vpp};
    wanted.steps = 5;
    return test::makeJitteredRun(wanted, 3).steps;
}

TEST(CheckPlan, PutsChecksIntoTheBubblesOfTheLastStep) {
    const auto steps = recordedSteps("1f1b");
    const CheckPlan plan = planChecksOfRun(steps, 0.1).value();
    EXPECT_EQ(plan.step, 4);
    EXPECT_EQ(plan.ranks, 4U);
    ASSERT_EQ(plan.columns.size(), 2U);
    EXPECT_EQ(plan.columns[0].kind, OpKind::Forward);
    EXPECT_EQ(plan.units.size(), 8U);
    TimeNs idle{0};
    for (const CheckPlan::Place& place : plan.places) {
        EXPECT_GE(place.when.start, steps.back().begin);
        EXPECT_LE(place.when.end, steps.back().end);
        idle += place.when.duration();
    }
    EXPECT_EQ(plan.idle, idle);
    EXPECT_GT(plan.checked, TimeNs{0});
    EXPECT_LE(plan.checked, plan.idle);
    for (std::size_t rank = 0; rank < plan.ranks; ++rank) {
        for (std::size_t column = 0; column < plan.columns.size(); ++column) {
            const CheckPlan::Unit& unit = plan.unit(rank, column);
            EXPECT_TRUE(unit.exists);
            EXPECT_EQ(unit.checks.empty(), unit.first_step == 0);
        }
    }
    EXPECT_EQ(plan.full.has_value(), plan.coverable == 1);
}

TEST(CheckPlan, TakesOneReplicaOnly) {
    auto steps = recordedSteps("1f1b");
    auto other = steps;
    for (StepTimeline& step : other) {
        step.replica = 1;
        steps.push_back(std::move(step));
    }
    EXPECT_EQ(planChecksOfRun(steps, 0.1).value().step, 4);
}

TEST(CheckPlan, RejectsANegativeMargin) {
    EXPECT_FALSE(planChecksOfRun(recordedSteps("1f1b"), -0.1).ok());
}

TEST(CoverageMap, SumsUpTheLayersOfEachChunk) {
    CheckCoverage coverage;
    const auto add = [&](int rank, int chunk, OpKind kind, int layer, int equal, int skipped) {
        CoveredUnit unit;
        unit.place.rank = Rank{rank};
        unit.chunk = Chunk{chunk};
        unit.kind = kind;
        unit.layer = layer;
        unit.counts.equal = equal;
        unit.counts.skipped = skipped;
        coverage.units.push_back(unit);
    };
    add(1, 0, OpKind::Forward, 4, 0, 0);
    add(0, 0, OpKind::Backward, 0, 2, 0);
    add(0, 0, OpKind::Forward, 0, 1, 0);
    add(0, 0, OpKind::Forward, 1, 0, 3);
    const CoverageMap map = coverageMap(coverage);
    ASSERT_EQ(map.rows.size(), 2U);
    ASSERT_EQ(map.columns.size(), 2U);
    EXPECT_EQ(map.columns[0].kind, OpKind::Forward);
    EXPECT_EQ(map.cell(0, 0).units, 2);
    EXPECT_EQ(map.cell(0, 0).covered, 1);
    EXPECT_EQ(map.cell(0, 0).not_yet, 1);
    EXPECT_EQ(map.cell(0, 0).counts.skipped, 3);
    EXPECT_EQ(map.cell(0, 1).counts.equal, 2);
    EXPECT_EQ(map.cell(1, 0).never, 1);
    EXPECT_EQ(map.cell(1, 1).units, 0) << "rank 1 has no backwards";
}

} // namespace
} // namespace bubblescope
