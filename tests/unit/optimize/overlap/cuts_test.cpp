// Cutting rules, by hand.

#include "core/optimize/overlap/cuts.h"
#include "tests/unit/optimize/overlap/op_lists.h"

#include <gtest/gtest.h>

namespace bubblescope::overlap {
namespace {

using test::opList;
using Pieces = std::vector<Piece>;

constexpr Pass B = Pass::Backward;
constexpr Pass F = Pass::Forward;

TEST(Cuts, EveryAllReduceCutsBothPasses) {
    const Plan plan =
        cutAtEveryAllReduce(opList({{'c', 4}, {'b', 5}, {'c', 2}, {'b', 1}, {'c', 1}}), opList({{'c', 3}, {'b', 2}}));
    EXPECT_EQ(plan.pieces, (Pieces{{B, 0, 2}, {F, 0, 2}, {B, 2, 4}, {B, 4, 5}}));
    for (const Operators& ops : plan.ops)
        for (const Operator& op : ops)
            EXPECT_EQ(op.own_stream, op.all_reduce);
}

TEST(Cuts, BudgetTakesWhatFitsAndStopsBehindAnAllReduce) {
    // During the first all-reduce 3 + 6 fit into 10, not the 2 after them; during the second 2, as an all-reduce
    // follows; during the third 5 + 5.
    const RuleCut cut =
        cutByBudget(opList({{'c', 1}, {'b', 10}, {'c', 1}, {'b', 10}, {'c', 1}, {'b', 10}, {'c', 1}}),
                    opList({{'c', 3}, {'c', 6}, {'c', 2}, {'b', 9}, {'c', 5}, {'c', 5}, {'c', 1}}), TimeNs{10});
    EXPECT_EQ(cut.plan.pieces,
              (Pieces{{B, 0, 2}, {F, 0, 2}, {B, 2, 4}, {F, 2, 4}, {B, 4, 6}, {F, 4, 6}, {B, 6, 7}, {F, 6, 7}}));
    EXPECT_EQ(cut.stop, CutStop::None);
    EXPECT_TRUE(cut.plan.of(F)[3].own_stream) << "it ends a piece";
}

TEST(Cuts, BudgetNeverGetsPastALongForwardOp) {
    const RuleCut cut = cutByBudget(opList({{'c', 1}, {'b', 10}, {'c', 1}, {'b', 10}, {'c', 1}, {'b', 10}, {'c', 1}}),
                                    opList({{'c', 3}, {'c', 11}, {'c', 2}}), TimeNs{10});
    EXPECT_EQ(cut.plan.pieces, (Pieces{{B, 0, 2}, {F, 0, 1}, {B, 2, 7}, {F, 1, 3}}));
    EXPECT_EQ(cut.stop, CutStop::ForwardTooLong);
    EXPECT_EQ(cut.stopped_at, 1);
    EXPECT_TRUE(cut.plan.of(B)[1].own_stream);
    EXPECT_FALSE(cut.plan.of(B)[3].own_stream || cut.plan.of(B)[5].own_stream) << "inside a piece they block";
    // 1 + 10 (with 3 at the same time) + 1 + 10 + 1 + 10 + 1 + 11 + 2
    EXPECT_EQ(runPlan(cut.plan, {}).end(), TimeNs{47});
}

TEST(Cuts, BudgetGoesByTheCostTableNotByTheTruth) {
    Operators forward = opList({{'c', 3}, {'c', 30}, {'c', 2}});
    forward[1].assumed = TimeNs{6};
    const RuleCut cut = cutByBudget(opList({{'c', 1}, {'b', 10}, {'c', 1}}), forward, TimeNs{10});
    EXPECT_EQ(cut.plan.pieces, (Pieces{{B, 0, 2}, {F, 0, 2}, {B, 2, 3}, {F, 2, 3}}));
    EXPECT_EQ(runPlan(cut.plan, {}).ends[passIndex(B)], TimeNs{1 + 33 + 1}) << "the backward is held up";
}

TEST(Cuts, BudgetUsesUpAShortForward) {
    const RuleCut cut =
        cutByBudget(opList({{'c', 1}, {'b', 10}, {'c', 1}, {'b', 10}, {'c', 1}}), opList({{'c', 3}}), TimeNs{10});
    EXPECT_EQ(cut.plan.pieces, (Pieces{{B, 0, 2}, {F, 0, 1}, {B, 2, 5}}));
    EXPECT_EQ(cut.stop, CutStop::ForwardUsedUp);
}

TEST(Cuts, SplittingGetsPastLongOpsAndSplitsNoOther) {
    const Operators backward =
        opList({{'c', 1}, {'b', 10}, {'c', 1}, {'b', 10}, {'c', 1}, {'b', 10}, {'c', 1}, {'b', 10}, {'c', 1}});
    Operators forward = opList({{'c', 3}, {'c', 24}, {'c', 2}, {'c', 30}});
    forward[1].splittable = forward[3].splittable = true;
    const RuleCut cut = cutByBudgetSplitting(backward, forward, TimeNs{10}, 4, 0.0);
    // 3; three slices of 8, the last with the 2 after it; the 30 is beyond the last all-reduce.
    EXPECT_EQ(cut.plan.pieces, (Pieces{{B, 0, 2},
                                       {F, 0, 1},
                                       {B, 2, 4},
                                       {F, 1, 2},
                                       {B, 4, 6},
                                       {F, 2, 3},
                                       {B, 6, 8},
                                       {F, 3, 5},
                                       {B, 8, 9},
                                       {F, 5, 6}}));
    EXPECT_EQ(cut.plan.of(F)[3].name, "c1 3/3");
    EXPECT_EQ(cut.plan.of(F)[5].time, TimeNs{30});

    // Slices that would still be too long are not made.
    const RuleCut stuck = cutByBudgetSplitting(backward, forward, TimeNs{10}, 2, 0.0);
    EXPECT_EQ(stuck.stop, CutStop::ForwardTooLong);
    EXPECT_EQ(stuck.plan.of(F).size(), 4U);
}

TEST(Cuts, UncutRunsOnePassAfterTheOther) {
    const Plan plan = uncut(opList({{'c', 4}, {'b', 5}}), opList({{'c', 3}, {'b', 2}}));
    EXPECT_EQ(plan.pieces, (Pieces{{B, 0, 2}, {F, 0, 2}}));
    EXPECT_EQ(runPlan(plan, {}).end(), TimeNs{14});
    EXPECT_EQ(runPlan(uncut(opList({{'c', 3}, {'b', 2}}), F), {}).ends[passIndex(F)], TimeNs{5});
}

} // namespace
} // namespace bubblescope::overlap
