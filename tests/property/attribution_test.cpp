// The critical path, slack and attribution against brute force.

#include "core/analysis/attribution/attribution.h"
#include "core/analysis/attribution/chain_tree.h"
#include "core/analysis/attribution/critical_path.h"
#include "tests/property/measured_steps.h"

#include <algorithm>

namespace bubblescope {
namespace {

StepAttribution attributionOf(const StepTimeline& step, const UsualTimes& usual) {
    const ObservedStep observed(step);
    StepReplay replay(observed.graph);
    return attributeWaits(step, observed, replay, UnitTimes(usual, step, observed.graph));
}
StepAttribution attributionOf(const StepTimeline& step) {
    return attributionOf(step, UsualTimes({&step, 1}));
}

void expectWholePath(const CriticalPath& path, TimeNs wall, const std::string& where) {
    EXPECT_EQ(path.ops + path.transfers + path.delays, wall) << where;
    TimeNs at{0};
    for (const PathSegment& segment : path.segments) {
        EXPECT_EQ(segment.start, at) << where;
        EXPECT_GT(segment.end, segment.start) << where;
        at = segment.end;
    }
    EXPECT_EQ(at, wall) << where;
}

TEST(CriticalPath, LeavesNoTimeOut) {
    unsigned seed = 1;
    for (const Schedule& order : test::familyOrders()) {
        const StepTimeline step = test::measuredStep(order, test::randomTimes(order, seed++));
        const StepGraph graph(step);
        const CriticalPath path = criticalPath(graph, bindings(graph));
        expectWholePath(path, step.wall(), order.name);
        EXPECT_EQ(path.delays, TimeNs{0}) << order.name;
        for (const PathSegment& segment : path.segments) {
            if (segment.kind != PathSegment::Kind::Op) continue;
            EXPECT_EQ(path.slack[StepGraph::at(segment.unit)], TimeNs{0}) << order.name;
        }
    }
    for (unsigned hostile = 0; hostile < 2000; ++hostile) {
        const StepTimeline step = test::hostileStep(hostile);
        const StepGraph graph(step);
        const CriticalPath path = criticalPath(graph, bindings(graph));
        if (graph.size() > 0) expectWholePath(path, step.wall(), "seed " + std::to_string(hostile));
    }
}

TEST(CriticalPath, AnOpMayEndLaterByItsSlackAndNotMore) {
    unsigned seed = 1;
    for (const Schedule& order : test::familyOrders()) {
        if (order.pp > 3) continue;
        const StepTimeline step = test::measuredStep(order, test::randomTimes(order, seed++));
        const StepGraph graph(step);
        const CriticalPath path = criticalPath(graph, bindings(graph));
        std::vector<TimeNs> durations;
        for (UnitIndex unit = 0; unit < graph.size(); ++unit)
            durations.push_back(graph.duration(unit));
        StepReplay replay(graph);
        for (std::size_t unit = 0; unit < durations.size(); ++unit) {
            durations[unit] += path.slack[unit];
            EXPECT_EQ(replay.run({durations, &graph.transfer, {}}), step.wall()) << order.name;
            durations[unit] += TimeNs{1};
            EXPECT_EQ(replay.run({durations, &graph.transfer, {}}), step.wall() + TimeNs{1}) << order.name;
            durations[unit] -= path.slack[unit] + TimeNs{1};
        }
    }
}

TEST(ChainTree, AgreesWithWalkingUp) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937 random(seed);
        const auto pick = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
        const int size = pick(1, 60);
        std::vector<Binding> parents(static_cast<std::size_t>(size));
        std::vector<TimeNs> weights;
        for (int i = 0; i < size; ++i) {
            parents[static_cast<std::size_t>(i)].unit = pick(std::max(-1, i - 4), i - 1);
            weights.emplace_back(pick(0, 3) == 0 ? 0 : 1000 * pick(1, 50) + i);
        }
        const ChainTree tree(parents, [&](std::size_t unit) { return weights[unit]; });
        const auto up = [&](UnitIndex unit) { return parents[static_cast<std::size_t>(unit)].unit; };
        for (UnitIndex a = -1; a < size; ++a) {
            for (UnitIndex b = -1; b < size; ++b) {
                UnitIndex left = a;
                UnitIndex right = b;
                while (left != right)
                    (left > right ? left : right) = up(std::max(left, right));
                ASSERT_EQ(tree.meet(a, b), left);
                TimeNs sum{0};
                TimeNs most{0};
                for (UnitIndex unit = a; unit != left; unit = up(unit)) {
                    sum += weights[static_cast<std::size_t>(unit)];
                    most = std::max(most, weights[static_cast<std::size_t>(unit)]);
                }
                ASSERT_EQ(tree.sum(a, left), sum);
                const UnitIndex largest = tree.largest(a, left);
                UnitIndex walked = a;
                TimeNs weight{0};
                for (; walked != kNoUnit && weight < sum; walked = up(walked))
                    weight += weights[static_cast<std::size_t>(walked)];
                ASSERT_EQ(tree.enough(a, sum), walked);
                ASSERT_EQ(largest == kNoUnit ? TimeNs{0} : weights[static_cast<std::size_t>(largest)], most);
            }
        }
    }
}

class Attribution : public testing::Test {
protected:
    Attribution() {
        costs_.times = makeOpTimes(TimeNs{1000}, TimeNs{2000}, {}, {}).value();
        costs_.comm = TimeNs{100};
    }

    StepTimeline run(const Schedule& order, std::shared_ptr<MeasuredTimes> known = {}) const {
        CostModel costs = costs_;
        costs.measured = std::move(known);
        return simulate(order, costs).value();
    }

    static TimeNs idleOf(const StepTimeline& step, std::size_t rank) {
        TimeNs idle = step.wall();
        for (const TimelineOp& op : step.ranks[rank])
            idle -= op.duration();
        return idle;
    }

    /// Figures of a cause, compared with a simulation without it.
    static void expectCost(const RootCause& cause, const StepTimeline& with, const StepTimeline& without) {
        EXPECT_EQ(cause.saves, with.wall() - without.wall());
        for (std::size_t r = 0; r < with.ranks.size(); ++r)
            EXPECT_EQ(cause.idle[r], idleOf(with, r) - idleOf(without, r)) << "rank " << r;
    }

    Schedule order_ = makeSchedule({"1f1b", "", 4, 8, 1}).value();
    CostModel costs_;
};

TEST_F(Attribution, WithoutExcessTheScheduleAloneMakesWaits) {
    const StepTimeline step = run(order_);
    const StepAttribution attribution = attributionOf(step);
    EXPECT_TRUE(attribution.ranking.empty());
    EXPECT_EQ(attribution.attributed, TimeNs{0});
    EXPECT_EQ(attribution.unexplained, TimeNs{0});
    TimeNs idle{0};
    for (std::size_t r = 0; r < 4; ++r)
        idle += idleOf(step, r);
    EXPECT_EQ(attribution.usual, idle);
}

// One op of all is slow: each bubble that is longer for it names it, and by as much as it is shorter without it.
TEST_F(Attribution, EveryLongerBubbleNamesTheOneSlowOp) {
    const StepTimeline usual = run(order_);
    for (std::size_t r = 0; r < 4; ++r) {
        for (std::size_t i = 0; i < order_.ranks[r].size(); ++i) {
            auto known = std::make_shared<MeasuredTimes>();
            const Op slow = order_.ranks[r][i];
            known->setOp(Rank{r}, slow, TimeNs{7777});
            const StepTimeline step = run(order_, known);
            const StepGraph graph(step);
            const StepAttribution attribution = attributionOf(step);
            for (const AttributedBubble& bubble : attribution.bubbles) {
                const std::size_t rank = bubble.rank.index();
                const auto& before = usual.ranks[rank];
                const auto place =
                    bubble.before == kNoUnit ? before.size() : StepGraph::at(graph.op[StepGraph::at(bubble.before)]);
                const TimeNs from = place == 0 ? TimeNs{0} : before[place - 1].end;
                const TimeNs to = place == before.size() ? usual.end : before[place].start;
                const TimeNs wait = bubble.end - bubble.start;
                EXPECT_EQ(bubble.usual, std::min(wait, to - from));
                ASSERT_EQ(bubble.cause.has_value(), wait > to - from);
                if (!bubble.cause) continue;
                EXPECT_EQ(bubble.cause->kind, RootCauseKind::SlowOp);
                EXPECT_EQ(graph.rank[StepGraph::at(bubble.cause->unit)], static_cast<std::int32_t>(r));
                EXPECT_EQ(graph.op[StepGraph::at(bubble.cause->unit)], static_cast<std::int32_t>(i));
                EXPECT_EQ(bubble.cause->time, TimeNs{7777} - costs_.times.of(slow.kind));
            }
            EXPECT_EQ(attribution.unexplained, TimeNs{0});
            if (attribution.attributed == TimeNs{0}) continue; // it fitted into a bubble of its own rank
            ASSERT_EQ(attribution.ranking.size(), 1U);
            EXPECT_EQ(attribution.ranking[0].unit, graph.unitsOf(Rank{r})[i]);
            EXPECT_EQ(attribution.ranking[0].waits, attribution.attributed);
            expectCost(attribution.ranking[0], step, usual);
        }
    }
}

TEST_F(Attribution, ASlowStageIsNamedWithWhatItCosts) {
    auto known = std::make_shared<MeasuredTimes>();
    for (const Op& op : order_.ranks[2])
        known->setOp(Rank{2}, op, op.kind == OpKind::Forward ? TimeNs{1300} : TimeNs{2900});
    const StepTimeline step = run(order_, known);
    const StepAttribution attribution = attributionOf(step);
    ASSERT_EQ(attribution.ranking.size(), 1U);
    const RootCause& cause = attribution.ranking[0];
    EXPECT_EQ(cause.kind, RootCauseKind::SlowStage);
    EXPECT_EQ(cause.rank, Rank{2});
    EXPECT_EQ(cause.chunk, Chunk{0});
    EXPECT_EQ(cause.excess, TimeNs{8 * (300 + 900)});
    expectCost(cause, step, run(order_));
}

// The stage is slow in this step only: one cause, not one per op. A single op of another rank keeps its own.
TEST_F(Attribution, ARankWhoseOpsAreAllSlowIsOneCause) {
    const StepTimeline on_time = run(order_);
    auto known = std::make_shared<MeasuredTimes>();
    for (const Op& op : order_.ranks[1])
        known->setOp(Rank{1}, op, op.kind == OpKind::Forward ? TimeNs{2000} : TimeNs{4000});
    auto with_op = std::make_shared<MeasuredTimes>(*known);
    with_op->setOp(Rank{3}, order_.ranks[3].front(), TimeNs{1500});
    const StepTimeline step = run(order_, with_op);
    std::vector<StepTimeline> steps{on_time, on_time, on_time, step};
    for (std::size_t i = 0; i < steps.size(); ++i)
        steps[i].index = static_cast<int>(i);
    const StepAttribution attribution = attributionOf(step, UsualTimes(steps));
    ASSERT_EQ(attribution.ranking.size(), 2U);
    const RootCause& rank = attribution.ranking[0];
    EXPECT_EQ(rank.kind, RootCauseKind::SlowRank);
    EXPECT_EQ(rank.rank, Rank{1});
    EXPECT_FALSE(rank.unit || rank.chunk);
    EXPECT_EQ(rank.count, 16);
    EXPECT_EQ(rank.excess, TimeNs{8 * (1000 + 2000)});
    auto only_op = std::make_shared<MeasuredTimes>();
    only_op->setOp(Rank{3}, order_.ranks[3].front(), TimeNs{1500});
    expectCost(rank, step, run(order_, only_op));
    EXPECT_EQ(attribution.ranking[1].kind, RootCauseKind::SlowOp);
    EXPECT_EQ(attribution.ranking[1].rank, Rank{3});
    expectCost(attribution.ranking[1], step, run(order_, known));
}

TEST_F(Attribution, ASlowLinkIsNamedWithItsDirection) {
    auto known = std::make_shared<MeasuredTimes>();
    for (int m = 0; m < 8; ++m)
        known->setTransfer(Payload::Gradient, Microbatch{m}, Stage{1}, 0, TimeNs{950});
    const StepTimeline step = run(order_, known);
    const StepAttribution attribution = attributionOf(step);
    ASSERT_EQ(attribution.ranking.size(), 1U);
    const RootCause& cause = attribution.ranking[0];
    EXPECT_EQ(cause.kind, RootCauseKind::SlowLink);
    EXPECT_EQ(cause.rank, Rank{2});
    EXPECT_EQ(cause.peer, Rank{1});
    expectCost(cause, step, run(order_));
}

TEST_F(Attribution, ALateStartIsNamed) {
    const StepTimeline on_time = run(order_);
    // As if the op took longer, but it took its time only behind that.
    const Op late = order_.ranks[3].back();
    auto known = std::make_shared<MeasuredTimes>();
    known->setOp(Rank{3}, late, TimeNs{2600});
    StepTimeline step = run(order_, known);
    step.ranks[3].back().start += TimeNs{600};
    const StepAttribution attribution = attributionOf(step);
    ASSERT_FALSE(attribution.ranking.empty());
    EXPECT_EQ(attribution.ranking[0].kind, RootCauseKind::LateStart);
    EXPECT_EQ(attribution.ranking[0].rank, Rank{3});
    expectCost(attribution.ranking[0], step, on_time);
}

// Without all excess no bubble is longer than its `usual`, whatever else happened in the step; and each cause's figures
// are those of a simulation in which its ops take their usual times.
TEST_F(Attribution, FiguresHoldInStepsFullOfJitter) {
    unsigned seed = 1;
    int root_causes = 0;
    for (const Schedule& order : test::familyOrders()) {
        const auto times = test::randomTimes(order, seed++);
        const StepTimeline step = test::measuredStep(order, times);
        const StepGraph graph(step);
        const StepAttribution attribution = attributionOf(step);
        TimeNs idle{0};
        for (std::size_t r = 0; r < graph.last.size(); ++r) {
            idle += step.wall();
            for (UnitIndex unit = graph.last[r]; unit != kNoUnit; unit = graph.previous(StepGraph::at(unit)))
                idle -= graph.duration(unit);
        }
        EXPECT_EQ(attribution.usual + attribution.attributed + attribution.unexplained, idle) << order.name;
        for (const RootCause& cause : attribution.ranking) {
            EXPECT_GT(cause.waits, TimeNs{0});
            EXPECT_GE(cause.saves, TimeNs{0});
            if (cause.kind != RootCauseKind::SlowOp || graph.pair[StepGraph::at(*cause.unit)]) continue;
            ++root_causes;
            const std::size_t unit = StepGraph::at(*cause.unit);
            const Op& op = step.ranks[cause.rank.index()][StepGraph::at(graph.op[unit])].op;
            auto without = std::make_shared<MeasuredTimes>(*times);
            without->setOp(cause.rank, op, graph.duration(*cause.unit) - cause.excess);
            const StepTimeline expected = test::measuredStep(order, without);
            EXPECT_EQ(cause.saves, step.wall() - expected.wall()) << order.name;
            for (std::size_t r = 0; r < graph.last.size(); ++r) {
                TimeNs work_with{0};
                TimeNs work_without{0};
                const StepGraph other(expected);
                for (UnitIndex u = graph.last[r]; u != kNoUnit; u = graph.previous(StepGraph::at(u)))
                    work_with += graph.duration(u);
                for (UnitIndex u = other.last[r]; u != kNoUnit; u = other.previous(StepGraph::at(u)))
                    work_without += other.duration(u);
                EXPECT_EQ(cause.idle[r], (step.wall() - work_with) - (expected.wall() - work_without)) << order.name;
            }
        }
    }
    EXPECT_GT(root_causes, 100);
}

TEST_F(Attribution, HostileTimelinesGiveFiguresThatAddUp) {
    for (unsigned seed = 0; seed < 2000; ++seed) {
        const StepTimeline step = test::hostileStep(seed);
        const StepAttribution attribution = attributionOf(step);
        TimeNs waits{0};
        for (const AttributedBubble& bubble : attribution.bubbles) {
            EXPECT_GE(bubble.usual, TimeNs{0});
            waits += bubble.end - bubble.start;
        }
        EXPECT_EQ(attribution.usual + attribution.attributed + attribution.unexplained, waits) << "seed " << seed;
    }
}

} // namespace
} // namespace bubblescope
