#include "core/families/registry.h"
#include "core/graph/consolidate.h"
#include "core/graph/simulate.h"
#include "core/schedule/dependency.h"
#include "core/timeline/bubbles.h"

#include <gtest/gtest.h>

#include <random>

namespace bubblescope {
namespace {

/// A run of a schedule in which the ops of every stage have different times; all pairs have one time.
StepTimeline jittered(const ScheduleSpec& spec, unsigned seed, int comm) {
    const Schedule schedule = makeSchedule(spec).value();
    std::mt19937 random(seed);
    CostModel costs;
    for (int s = 0; s < schedule.stages(); ++s) {
        costs.stages.push_back(makeOpTimes(TimeNs{80 + random() % 40}, TimeNs{160 + random() % 80}, {}, {}).value());
    }
    costs.overlapped = TimeNs{240 + random() % 80};
    costs.comm = TimeNs{comm};
    return simulate(schedule, costs).value();
}

/// Every op after its inputs' arrival and its predecessor, no earlier than before, within the window; the halves
/// of a pair together.
void expectFeasible(const StepTimeline& before, const StepTimeline& after, int comm) {
    const Schedule order = executedOrder(after);
    ASSERT_EQ(order.ranks, executedOrder(before).ranks);
    const OpGraph graph(order);
    std::vector<TimelineOp> ops;
    std::vector<TimelineOp> old;
    for (const auto& rank : after.ranks)
        ops.insert(ops.end(), rank.begin(), rank.end());
    for (const auto& rank : before.ranks)
        old.insert(old.end(), rank.begin(), rank.end());
    const auto at = [&](OpIndex i) -> const TimelineOp& { return ops[static_cast<std::size_t>(i)]; };
    for (OpIndex i = 0; i < graph.size(); ++i) {
        EXPECT_GE(at(i).start, old[static_cast<std::size_t>(i)].start);
        EXPECT_EQ(at(i).duration(), old[static_cast<std::size_t>(i)].duration());
        EXPECT_LE(at(i).end, before.end);
        if (graph.partner(i) >= 0) {
            EXPECT_EQ(at(i).start, at(graph.partner(i)).start);
        }
        if (graph.previous(i) >= 0 && graph.previous(i) != graph.partner(i)) {
            EXPECT_GE(at(i).start, at(graph.previous(i)).end);
        }
        const OpIndex producer = graph.producers(i).stage;
        if (producer < 0) continue;
        const bool crosses = graph.rank(producer) != graph.rank(i);
        EXPECT_GE(at(i).start, at(producer).end + TimeNs{crosses ? comm : 0});
    }
}

TEST(Consolidate, KeepsEveryConstraintOnJitteredSteps) {
    for (const ScheduleSpec& spec : {ScheduleSpec{"fthenb", "", 4, 6, 1},
                                     {"1f1b", "", 5, 9, 1},
                                     {"1f1b", "", 4, 2, 1},
                                     {"interleaved", "", 4, 12, 3},
                                     {"zb-h1", "paddle", 4, 9, 1},
                                     {"zb-h2", "", 4, 9, 1},
                                     {"zb-v", "handcrafted", 4, 9, 2},
                                     {"1f1b-overlap", "", 4, 9, 1},
                                     {"interleaved-overlap", "", 3, 9, 2},
                                     {"dualpipe", "", 4, 10, 2},
                                     {"dualpipev", "", 3, 7, 2},
                                     {"chimera", "", 4, 8, 2},
                                     {"hanayo", "", 3, 5, 4}}) {
        for (unsigned seed = 0; seed < 20; ++seed) {
            for (const int comm : {0, 15}) {
                const StepTimeline before = jittered(spec, seed, comm);
                const StepTimeline after = consolidate(before);
                expectFeasible(before, after, comm);
                const std::vector<TimeNs> wish(5, TimeNs{300});
                expectFeasible(before, consolidate(before, wish), comm);
            }
        }
    }
}

TEST(Consolidate, EmptiesCoolDownOfOneFOneB) {
    const StepTimeline gathered = consolidate(jittered({"1f1b", "", 6, 12, 1}, 3, 0));
    TimeNs inside{0};
    for (const auto& rank : findBubbles(gathered)) {
        for (const Bubble& bubble : rank)
            inside += bubble.position == Position::InsideCooldown ? bubble.duration() : TimeNs{0};
    }
    // The slowest stage's backwards set the pace of cool-down; gaps remain only after it.
    TimeNs before{0};
    for (const auto& rank : findBubbles(jittered({"1f1b", "", 6, 12, 1}, 3, 0))) {
        for (const Bubble& bubble : rank)
            before += bubble.position == Position::InsideCooldown ? bubble.duration() : TimeNs{0};
    }
    EXPECT_LT(inside, before / 2);
}

/// As recorded, the halves of a pair rarely start and end at once: they keep their distance.
TEST(Consolidate, MovesTheHalvesOfAPairTogether) {
    StepTimeline before = jittered({"1f1b-overlap", "", 4, 9, 1}, 7, 10);
    for (auto& ops : before.ranks) {
        for (TimelineOp& op : ops) {
            if (op.op.overlapped && op.op.kind == OpKind::Backward) op.start += TimeNs{20};
            if (op.op.overlapped && op.op.kind == OpKind::Forward) op.end -= TimeNs{30};
        }
    }
    const StepTimeline after = consolidate(before);
    EXPECT_EQ(after.end, before.end);
    int moved = 0;
    for (std::size_t r = 0; r < before.ranks.size(); ++r) {
        for (std::size_t i = 0; i < before.ranks[r].size(); ++i) {
            const TimelineOp& old = before.ranks[r][i];
            const TimelineOp& now = after.ranks[r][i];
            EXPECT_EQ(now.duration(), old.duration());
            EXPECT_GE(now.start, old.start);
            if (!old.op.overlapped || old.op.kind != OpKind::Forward) continue;
            EXPECT_EQ(after.ranks[r][i + 1].start - now.start, TimeNs{20});
            moved += now.start > old.start ? 1 : 0;
        }
    }
    EXPECT_GT(moved, 0);
}

/// No op waits for the last weight gradients, so idle time stays after them.
TEST(Consolidate, LeavesTheLastWeightGradientsWhereTheyFollowAtOnce) {
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{100}, {}, TimeNs{110}, TimeNs{30}).value();
    const Schedule schedule = makeSchedule({"zb-h1", "", 4, 9, 1}).value();
    const auto bubbles = findBubbles(consolidate(simulate(schedule, costs).value()));
    for (std::size_t r = 0; r < 4; ++r) {
        const TimeNs behind = bubbles[r].back().end - bubbles[r].back().start;
        EXPECT_EQ(bubbles[r].back().position, r == 0 ? Position::SteadyToCooldown : Position::AfterCooldown);
        if (r > 0) {
            EXPECT_EQ(behind, static_cast<int>(r) * TimeNs{110 - 30});
        }
    }
}

TEST(Consolidate, LeavesSkewedAndIncompleteStepsInPeace) {
    StepTimeline skewed = jittered({"1f1b", "", 4, 8, 1}, 1, 0);
    for (TimelineOp& op : skewed.ranks[2]) { // a clock 500 ns behind breaks causality
        op.start -= TimeNs{500};
        op.end -= TimeNs{500};
    }
    skewed.fitWindow();
    const StepTimeline gathered = consolidate(skewed);
    EXPECT_EQ(gathered.begin, skewed.begin);
    EXPECT_EQ(gathered.end, skewed.end);
    for (std::size_t r = 0; r < 4; ++r) {
        for (std::size_t i = 0; i < skewed.ranks[r].size(); ++i) {
            EXPECT_GE(gathered.ranks[r][i].start, skewed.ranks[r][i].start);
            EXPECT_LE(gathered.ranks[r][i].end, skewed.end);
        }
    }
    StepTimeline incomplete = jittered({"1f1b", "", 4, 8, 1}, 1, 0);
    incomplete.ranks[0].erase(incomplete.ranks[0].begin());
    EXPECT_EQ(executedOrder(consolidate(incomplete)).ranks, executedOrder(incomplete).ranks);
    EXPECT_EQ(consolidate(StepTimeline{}).ranks.size(), 0U);
}

} // namespace
} // namespace bubblescope
