#include "core/analysis/comparison/compare_runs.h"

#include "tests/support/jittered_run.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace bubblescope {
namespace {

using test::JitteredRun;
using test::makeJitteredRun;

ScheduleSpec spec(std::string name, int pp, int microbatches, int vpp = 1) {
    ScheduleSpec result;
    result.name = std::move(name);
    result.pp = pp;
    result.microbatches = microbatches;
    result.vpp = vpp;
    return result;
}

std::vector<Change> of(const RunComparison& result, Subject subject) {
    std::vector<Change> found;
    std::ranges::copy_if(result.changes, std::back_inserter(found),
                         [&](const Change& change) { return change.key.subject == subject; });
    return found;
}

TEST(CompareRuns, TwoEqualRunsShowNoChange) {
    JitteredRun run{.spec = spec("1f1b", 4, 8)};
    const RunComparison result = compareRuns(makeJitteredRun(run, 1), makeJitteredRun(run, 2));
    EXPECT_TRUE(result.tested);
    EXPECT_EQ(result.steps_a, 10U);
    EXPECT_TRUE(result.changes.empty());
    EXPECT_TRUE(result.ops.empty());
    EXPECT_TRUE(result.order_changes.empty());
    EXPECT_FALSE(result.step_changed);
    // Those of the 64 ops in groups of two or fewer have no similar ops: two forwards and backwards of rank 1, one of
    // rank 2.
    EXPECT_EQ(result.compared_ops, 58U);
}

TEST(CompareRuns, WarmUpAndOutliersAreNotCompared) {
    JitteredRun run{.spec = spec("1f1b", 4, 8)};
    const bubblescope::Run before = makeJitteredRun(run, 1);
    run.op_factor = [](int step, Rank, const Op&) { return step == 0 ? 5.0 : step == 6 ? 3.0 : 1.0; };
    const RunComparison result = compareRuns(before, makeJitteredRun(run, 2));
    EXPECT_EQ(result.steps_a, 10U);
    EXPECT_EQ(result.steps_b, 8U);
    EXPECT_EQ(result.selection_b.count(SetAside::WarmUp), 1U);
    EXPECT_EQ(result.selection_b.count(SetAside::Outlier), 1U);
    EXPECT_FALSE(result.step_changed);
    EXPECT_TRUE(result.changes.empty());
    EXPECT_EQ(result.step.b, result.selection_b.stepTime());
}

TEST(CompareRuns, NamesTheSlowRankAndWhatItCosts) {
    JitteredRun run{.spec = spec("1f1b", 4, 8)};
    const auto before = makeJitteredRun(run, 1);
    run.op_factor = [](int, Rank rank, const Op&) { return rank.value == 2 ? 1.1 : 1.0; };
    const RunComparison result = compareRuns(before, makeJitteredRun(run, 2));
    EXPECT_TRUE(result.step_changed);
    EXPECT_GT(result.step.low.count(), 0);
    const auto groups = of(result, Subject::OpGroup);
    ASSERT_FALSE(groups.empty());
    for (const Change& change : groups) {
        EXPECT_EQ(change.key.rank, 2);
        const double truth = change.key.kind == OpKind::Forward ? 1e5 : 2e5;
        EXPECT_NEAR(static_cast<double>(change.shift.count()), truth, 0.35 * truth);
        EXPECT_LE(change.low, change.shift);
        EXPECT_LE(change.shift, change.high);
    }
    // The steady phase has most of the ops: it costs most.
    EXPECT_EQ(groups.front().key.phase, Phase::Steady);
    EXPECT_TRUE(result.ops.empty()) << "no op differs from its likes";
}

TEST(CompareRuns, NamesTheSingleSlowOp) {
    JitteredRun run{.spec = spec("1f1b", 4, 12)};
    const auto before = makeJitteredRun(run, 1);
    run.op_factor = [](int, Rank rank, const Op& op) {
        return rank.value == 1 && op.kind == OpKind::Backward && op.microbatch.value == 5 ? 1.5 : 1.0;
    };
    const RunComparison result = compareRuns(before, makeJitteredRun(run, 2));
    ASSERT_EQ(result.ops.size(), 1U);
    EXPECT_EQ(result.ops[0].key.rank, 1);
    EXPECT_EQ(result.ops[0].key.kind, OpKind::Backward);
    EXPECT_EQ(result.ops[0].key.microbatch, 5);
    EXPECT_NEAR(static_cast<double>(result.ops[0].shift.count()), 1e6, 1e5);
    EXPECT_TRUE(of(result, Subject::OpGroup).empty());
}

TEST(CompareRuns, NamesTheSlowLinkAndItsDirection) {
    JitteredRun run{.spec = spec("1f1b", 4, 8)};
    const auto before = makeJitteredRun(run, 1);
    run.link_factor = [](int, Rank from, Rank to) { return from.value == 1 && to.value == 2 ? 5.0 : 1.0; };
    const RunComparison result = compareRuns(before, makeJitteredRun(run, 2));
    const auto transfers = of(result, Subject::Transfer);
    ASSERT_EQ(transfers.size(), 1U);
    EXPECT_EQ(transfers[0].key.rank, 1);
    EXPECT_EQ(transfers[0].key.peer, 2);
    EXPECT_EQ(transfers[0].key.payload, Payload::Activation);
    EXPECT_TRUE(of(result, Subject::OpGroup).empty());
}

TEST(CompareRuns, SaysWhereTheOrderChanged) {
    const auto before = makeJitteredRun({.spec = spec("1f1b", 4, 8)}, 1);
    const auto after = makeJitteredRun({.spec = spec("gpipe", 4, 8)}, 2);
    const RunComparison result = compareRuns(before, after);
    EXPECT_EQ(result.matching, Matching::ByRank);
    ASSERT_EQ(result.order_changes.size(), 4U);
    // The last rank runs B0 after F0 in 1F1B, but F1 in GPipe.
    EXPECT_EQ(result.order_changes[3].index, 1U);
    EXPECT_EQ(opName(*result.order_changes[3].a), "B0.0");
    EXPECT_EQ(opName(*result.order_changes[3].b), "F1.0");
}

TEST(CompareRuns, AnotherPlacementIsComparedStageByStage) {
    JitteredRun loop{.spec = spec("interleaved", 4, 8, 2)};
    JitteredRun v{.spec = spec("zb-v", 4, 8, 2)};
    v.op_factor = [](int, Rank rank, const Op& op) { return rank.value == 3 && op.chunk.value == 1 ? 1.3 : 1.0; };
    const RunComparison result = compareRuns(makeJitteredRun(loop, 1), makeJitteredRun(v, 2));
    EXPECT_EQ(result.matching, Matching::ByStage);
    EXPECT_FALSE(result.matching_note.empty());
    const auto work = of(result, Subject::StageWork);
    ASSERT_FALSE(work.empty());
    EXPECT_EQ(work.front().key.stage, 4); // in a V of 4 ranks, chunk 1 of rank 3
}

TEST(CompareRuns, OtherwiseOnlyStepsAndIdleTimeAreCompared) {
    const RunComparison result =
        compareRuns(makeJitteredRun({.spec = spec("1f1b", 4, 8)}, 1), makeJitteredRun({.spec = spec("1f1b", 2, 8)}, 2));
    EXPECT_EQ(result.matching, Matching::InTotal);
    for (const Change& change : result.changes)
        EXPECT_EQ(change.key.subject, Subject::RankBubble);
    EXPECT_EQ(result.unmatched, 2U) << "the idle time of ranks 2 and 3";
    EXPECT_TRUE(result.step_changed);
}

TEST(CompareRuns, WithFewStepsDifferencesAreShownAsUntested) {
    JitteredRun run{.spec = spec("1f1b", 4, 8), .steps = 1};
    const auto before = makeJitteredRun(run, 1);
    run.op_factor = [](int, Rank rank, const Op&) { return rank.value == 2 ? 1.5 : 1.0; };
    const RunComparison result = compareRuns(before, makeJitteredRun(run, 1));
    EXPECT_FALSE(result.tested);
    EXPECT_FALSE(result.step_changed);
    ASSERT_FALSE(of(result, Subject::OpGroup).empty());
    EXPECT_EQ(of(result, Subject::OpGroup).front().key.rank, 2);
    EXPECT_FALSE(result.changes.front().chance.has_value());
}

TEST(CompareRuns, AStepThatAReplicaLacksIsLeftOut) {
    JitteredRun wanted{.spec = spec("1f1b", 2, 4), .steps = 8};
    const auto twice = [&](unsigned seed) {
        auto run = makeJitteredRun(wanted, seed);
        auto other = makeJitteredRun(wanted, seed + 100);
        for (StepTimeline& step : other.steps) {
            step.replica = 1;
            if (step.index != 7) run.steps.push_back(std::move(step));
        }
        return run;
    };
    const RunComparison result = compareRuns(twice(1), twice(2));
    EXPECT_EQ(result.steps_a, 7U);
    EXPECT_EQ(result.unmatched, 0U);
    EXPECT_TRUE(result.changes.empty());
}

TEST(MeasuredParts, AreWhatAMeasureCounts) {
    JitteredRun run{.spec = spec("1f1b", 4, 8)};
    const StepTimeline step = makeJitteredRun(run, 1).steps[1];
    const auto bubbles = findBubbles(step);
    const StepTimeline* const steps[] = {&step};
    for (const auto& [key, measured] : measureStep(steps, Matching::ByRank)) {
        const auto parts = whereIs(key, step, bubbles);
        TimeNs sum{0};
        for (const MeasuredPart& part : parts) {
            EXPECT_EQ(part.rank.value, key.rank);
            sum += part.interval.duration();
        }
        switch (key.subject) {
        case Subject::Step: EXPECT_TRUE(parts.empty()); break;
        case Subject::RankBubble:
        case Subject::Bubble: EXPECT_DOUBLE_EQ(static_cast<double>(sum.count()), measured.value); break;
        case Subject::Op: EXPECT_EQ(parts.size(), 1U); break;
        default: EXPECT_EQ(static_cast<std::int64_t>(parts.size()), measured.times); break;
        }
    }
    MeasureKey stage;
    stage.subject = Subject::StageWork;
    stage.stage = 2;
    EXPECT_EQ(whereIs(stage, step, bubbles).size(), 16U) << "the ops of rank 2";
}

} // namespace
} // namespace bubblescope
