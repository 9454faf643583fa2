#include "core/families/registry.h"
#include "core/graph/consolidate.h"
#include "core/graph/simulate.h"
#include "core/graph/step_graph.h"
#include "core/graph/step_units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

StepTimeline stepOf(const std::string& schedule, int vpp = 1, int microbatches = 12) {
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{100}, TimeNs{200}, {}, {}).value();
    costs.comm = TimeNs{20};
    return simulate(makeSchedule({schedule, "", 4, microbatches, vpp}).value(), costs).value();
}

void expectSame(const StepGraph& a, const StepGraph& b) {
    EXPECT_TRUE(std::ranges::equal(a.rank, b.rank));
    EXPECT_TRUE(std::ranges::equal(a.op, b.op));
    EXPECT_TRUE(std::ranges::equal(a.pair, b.pair));
    EXPECT_EQ(a.tasks().edgeSources(), b.tasks().edgeSources());
    EXPECT_EQ(a.start, b.start);
    EXPECT_EQ(a.end, b.end);
    EXPECT_EQ(a.delay, b.delay);
    EXPECT_EQ(a.latest, b.latest);
    EXPECT_EQ(a.transfer, b.transfer);
    EXPECT_EQ(a.sent, b.sent);
}

void addOptimizers(StepTimeline& step, std::size_t before) {
    for (auto& ops : step.ranks) {
        TimelineOp op;
        op.op.kind = OpKind::Optimizer;
        const std::size_t place = ops.size() - before;
        op.start = op.end = place > 0 ? ops[place - 1].end : step.begin;
        ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(place), op);
    }
}

TEST(StepUnits, AreSharedByAllWhoLookAtAStep) {
    for (const auto& [schedule, vpp] : {std::pair("1f1b", 1), {"interleaved", 2}, {"zb-h1", 1}, {"dualpipev", 2}}) {
        StepTimeline step = stepOf(schedule, vpp);
        const auto ran = executedUnits(step);
        EXPECT_TRUE(ran->runnable());
        const StepGraph shared(step, ran);
        EXPECT_EQ(&shared.ops(), ran->units->ops.get()) << schedule;
        expectSame(shared, StepGraph(step));
        addOptimizers(step, 0); // after all others: another order, but with the same units
        EXPECT_NE(executedUnits(step, ran), ran);
        expectSame(StepGraph(step), shared);
    }
}

TEST(StepUnits, StayWhileStepsHaveOneOrder) {
    const StepTimeline step = stepOf("1f1b");
    StepTimeline later = step;
    moveTo(later, TimeNs{100'000});
    const auto ran = executedUnits(step);
    EXPECT_EQ(executedUnits(later, ran), ran);
    StepGraph graph(step, ran);
    EXPECT_TRUE(graph.assign(later, executedUnits(later, ran)));
    expectSame(graph, StepGraph(later));
    std::swap(later.ranks[0][0].op, later.ranks[0][1].op);
    const auto other = executedUnits(later, ran);
    EXPECT_NE(other, ran);
    EXPECT_FALSE(graph.assign(later, other));
    expectSame(graph, StepGraph(later));
}

// If there are many ops, their records are not kept until the next step.
TEST(StepUnits, StayInStepsOfManyOps) {
    const StepTimeline step = stepOf("1f1b", 1, 20'000);
    StepTimeline later = step;
    moveTo(later, TimeNs{100'000});
    const auto ran = executedUnits(step);
    StepGraph graph(step, ran);
    EXPECT_TRUE(graph.assign(later, ran));
    expectSame(graph, StepGraph(later, ran));
    EXPECT_EQ(graph.recorded_transfers, 6 * 20'000);
    Consolidation consolidation(step, ran);
    const auto bubbles = consolidation.bubbles({});
    EXPECT_TRUE(consolidation.assign(later, ran));
    EXPECT_EQ(consolidation.bubbles({}), bubbles);
}

TEST(StepUnits, AreFoundBesideOtherWorkOnTheirOrder) {
    for (const int microbatches : {12, 20'000}) {
        StepTimeline step = stepOf("1f1b", 1, microbatches);
        int calls = 0;
        const auto beside = [&](const StepOrder& order) {
            EXPECT_TRUE(order.isOf(step));
            ++calls;
        };
        const auto ran = executedUnits(step, nullptr, beside);
        EXPECT_EQ(calls, 1);
        EXPECT_TRUE(ran->runnable());
        EXPECT_EQ(ran->units->ops, ran->order.sharedGraph());
        EXPECT_EQ(executedUnits(step, ran, beside), ran);
        EXPECT_EQ(calls, 2) << "of a known order, too";
        std::swap(step.ranks[0][0].op, step.ranks[0][1].op);
        EXPECT_NE(executedUnits(step, ran, beside), ran);
        EXPECT_EQ(calls, 3);
    }
}

// The unit before it on its rank, where an input came at the same time.
TEST(StepGraph, KnowsWhatUnitsWaitedForLast) {
    const StepTimeline step = stepOf("dualpipev", 2);
    const StepGraph graph(step);
    const std::vector<Binding> latest = bindings(graph);
    for (std::size_t unit = 0; unit < latest.size(); ++unit) {
        TimeNs arrival{0};
        UnitIndex from = kNoUnit;
        for (std::size_t slot = 0; slot < graph.tasks().width(); ++slot) {
            const UnitIndex source = graph.tasks().predecessors(unit)[slot];
            if (source == kNoUnit) continue;
            const TimeNs transfer = slot == 0 ? TimeNs{0} : graph.transfer[slot - 1][unit];
            const TimeNs arrives = graph.end[StepGraph::at(source)] + transfer;
            if (from != kNoUnit && arrives <= arrival) continue;
            arrival = arrives;
            from = source;
        }
        EXPECT_EQ(latest[unit].unit, from) << unit;
        EXPECT_EQ(graph.start[unit] - graph.delay[unit], arrival) << unit;
        EXPECT_EQ(latest[unit].latest == Latest::Begin, from == kNoUnit) << unit;
    }
}

// An optimizer between other ops takes its rank's time, and halves between which a rank was idle are not a pair.
TEST(StepUnits, AreAStepsOwnWhereTimesDivideThem) {
    StepTimeline step = stepOf("1f1b");
    addOptimizers(step, 3);
    const auto ran = executedUnits(step);
    EXPECT_FALSE(ran->order.optimizersTrail());
    EXPECT_TRUE(ran->order.isOf(step));
    EXPECT_EQ(static_cast<std::size_t>(ran->order.graph().size()) + step.ranks.size(), 4U * 25U);
    const StepGraph graph(step, ran);
    EXPECT_EQ(graph.size(), ran->units->size() + 4);

    StepTimeline pairs = stepOf("dualpipev", 2);
    const auto together = executedUnits(pairs);
    for (auto& ops : pairs.ranks) {
        for (std::size_t i = 0; i + 1 < ops.size(); ++i) {
            if (!beginsPair(ops, i)) continue;
            ++i;
            ops[i].start += TimeNs{100'000};
            ops[i].end += TimeNs{100'000};
        }
    }
    EXPECT_TRUE(together->order.isOf(pairs));
    EXPECT_GT(StepGraph(pairs, together).size(), together->units->size());
}

TEST(StepUnits, AreNotSharedWhereOpsAreMissing) {
    StepTimeline step = stepOf("1f1b");
    step.ranks[1].erase(step.ranks[1].begin());
    const auto ran = executedUnits(step);
    EXPECT_FALSE(ran->runnable());
    EXPECT_FALSE(Consolidation(step, ran).possible());
    const StepGraph graph(step, ran);
    EXPECT_EQ(graph.size(), ran->order.graph().size());
    EXPECT_GT(graph.ignored_inputs, 0);
}

// The memory that a stage keeps for another op of its rank follows from the rank's order only while its ops do not
// overlap.
TEST(Consolidate, KeepsOwnInputsWhereOpsOverlap) {
    StepTimeline step = stepOf("1f1b");
    std::vector<TimelineOp>& last = step.ranks[3]; // F0 B0 F1 B1 …
    last[0].end = last[1].start;
    last[2].start = last[1].start + TimeNs{10}; // the next forward begins while B0 runs
    last[2].end = last[2].start + TimeNs{100};
    const StepTimeline after = consolidate(step);
    for (std::size_t i = 0; i < last.size(); ++i) {
        EXPECT_GE(after.ranks[3][i].start, step.ranks[3][i].start);
        EXPECT_EQ(after.ranks[3][i].duration(), step.ranks[3][i].duration());
    }
    const auto end = [&](std::size_t op) { return after.ranks[3][op].end; };
    for (std::size_t op = 1; op < last.size(); op += 2)
        EXPECT_GE(after.ranks[3][op].start, std::min(end(op - 1), last[op].start)) << op;
}

} // namespace
} // namespace bubblescope
