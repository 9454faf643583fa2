// Whole steps of two-stream ranks, by hand and against the op-level simulation.

#include "core/optimize/overlap/study.h"

#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/optimize/overlap/cuts.h"
#include "tests/unit/optimize/overlap/op_lists.h"

#include <gtest/gtest.h>

namespace bubblescope::overlap {
namespace {

using test::opList;

constexpr Pass B = Pass::Backward;
constexpr Pass F = Pass::Forward;

Schedule schedule(const char* name, const char* flavor, int p, int m) {
    return makeSchedule({name, flavor, p, m}).value();
}

TEST(OverlapStep, ByHand) {
    // A backward of 4, an all-reduce of 2 and 4; a forward of 2 and 2. Interleaved, the backward takes 10 and the
    // pair 12.
    const Operators backward = opList({{'c', 4}, {'a', 2}, {'c', 4}});
    const Operators forward = opList({{'c', 2}, {'c', 2}});
    const UnitPlans plans{
        {{backward, forward}, {{B, 0, 2}, {F, 0, 1}, {B, 2, 3}, {F, 1, 2}}}, uncut(forward, F), uncut(backward, B)};
    // Rank 1 runs (B0 F1) from 8 to 20 and gives the gradient away at 18. Rank 0 runs (B0 F2) from 18 to 30. So
    // rank 1, in its pair (B1 F2) from 20 on, waits from 24 to 30 for F2 and gives B1 away at 36; it ends B2
    // at 48, and rank 0 ends it at 58.
    const StepRun run = simulateStep(schedule("1f1b-overlap", "paddle-mp", 2, 3), plans, {}, TimeNs{0}).value();
    EXPECT_EQ(run.makespan, TimeNs{58});
    EXPECT_EQ(run.pairs, 3);
    EXPECT_EQ(run.singles, 3);
    EXPECT_EQ(run.all_reduce[passIndex(B)], TimeNs{12});
    EXPECT_EQ(run.hidden[passIndex(B)], TimeNs{4}) << "in two pairs; the third one's falls into the wait";
    EXPECT_EQ(run.all_reduce[passIndex(F)], TimeNs{0});
}

TEST(OverlapStep, WithoutCutsItIsOneFOneB) {
    const Operators backward = opList({{'c', 4}, {'b', 2}, {'c', 4}});
    const Operators forward = opList({{'c', 2}, {'b', 3}});
    const UnitPlans plans{uncut(backward, forward), uncut(forward, F), uncut(backward, B)};
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{5}, TimeNs{10}, {}, {}).value();
    for (int p = 1; p <= 5; ++p) {
        for (const int m : {1, 2, p, 3 * p}) {
            for (const int comm : {0, 2}) {
                costs.comm = TimeNs{comm};
                const StepRun run =
                    simulateStep(schedule("1f1b-overlap", "paddle-mp", p, m), plans, {}, costs.comm).value();
                EXPECT_EQ(run.makespan, simulate(schedule("1f1b", "", p, m), costs).value().wall()) << p << ' ' << m;
                EXPECT_EQ(run.hidden[passIndex(B)] + run.hidden[passIndex(F)], TimeNs{0});
            }
        }
    }
}

TEST(OverlapStep, AtMostWhatPairsThatHandOnAtTheirEndTake) {
    const Operators backward = opList({{'c', 4}, {'a', 3}, {'c', 5}, {'a', 3}, {'c', 1}});
    const Operators forward = opList({{'c', 3}, {'a', 2}, {'c', 3}, {'c', 1}});
    const UnitPlans plans{searchCuts(backward, forward, {}), uncut(forward, F), uncut(backward, B)};
    CostModel costs;
    costs.times = makeOpTimes(runPlan(plans.forward, {}).end(), runPlan(plans.backward, {}).end(), {}, {}).value();
    costs.overlapped = runPlan(plans.pair, {}).end();
    ASSERT_LT(*costs.overlapped, costs.times.forward + costs.times.backward);
    for (int p = 1; p <= 6; ++p) {
        for (const char* flavor : {"paddle-mp", "combined"}) {
            const Schedule order = schedule("1f1b-overlap", flavor, p, 4 * p);
            const StepRun run = simulateStep(order, plans, {}, TimeNs{1}).value();
            costs.comm = TimeNs{1};
            EXPECT_LE(run.makespan, simulate(order, costs).value().wall()) << p << flavor;
        }
    }
}

TEST(OverlapStep, OtherOrdersAreRefused) {
    const Operators one = opList({{'c', 1}});
    const UnitPlans plans{uncut(one, one), uncut(one, F), uncut(one, B)};
    for (const Schedule& order : {schedule("zb-h1", "", 2, 4), makeSchedule({"interleaved", "", 2, 4, 2}).value()}) {
        const auto run = simulateStep(order, plans, {}, TimeNs{0});
        ASSERT_FALSE(run.ok());
        EXPECT_EQ(run.error().kind, ErrorKind::Usage);
    }
    Operators many;
    many.assign(100'000, one[0]);
    const UnitPlans large{uncut(many, many), uncut(many, F), uncut(many, B)};
    const auto run = simulateStep(schedule("1f1b", "", 4, 200), large, {}, TimeNs{0});
    ASSERT_FALSE(run.ok());
    EXPECT_NE(run.error().text().find("fewer"), std::string::npos);
}

} // namespace
} // namespace bubblescope::overlap
