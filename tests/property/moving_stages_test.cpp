// Stages that are bound to no rank: placement, order and closed form against a plain event loop.

#include "core/graph/moving_stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace bubblescope {
namespace {

template <class Visit>
void eachSize(Visit visit) {
    for (int p = 1; p <= 6; ++p)
        for (const int m : {1, 2, p, p + 1, 3 * p})
            for (const int forward : {1, 2, p, 2 * p, 2 * p + 1})
                for (const int backward : {1, p, 3 * p - 1})
                    visit(MovingStages{p, m, forward, backward});
}

/// The step as a worker pool would run it: position by position, each micro-batch when its rank is free, its input has
/// come and the weights are there. A rank keeps two sets of weights.
struct Plain {
    TimeNs end{0};
    std::map<int, TimeNs> first; ///< start of each position
};

Plain runPlainly(const MovingStages& stages, const MovingTimes& times) {
    Plain plain;
    std::vector<TimeNs> free(static_cast<std::size_t>(stages.pp));
    std::vector<std::vector<TimeNs>> visit_ends(free.size());
    std::vector<TimeNs> loaded(free.size());
    std::vector<TimeNs> arrived(static_cast<std::size_t>(stages.microbatches));
    for (int position = 0; position < stages.positions(); ++position) {
        const auto rank = static_cast<std::size_t>(position % stages.pp);
        const auto& ends = visit_ends[rank];
        const TimeNs room = ends.size() < 2 ? TimeNs{0} : ends[ends.size() - 2];
        loaded[rank] = std::max(loaded[rank], room) + times.weights;
        for (auto& input : arrived) {
            const TimeNs start = std::max({free[rank], input, loaded[rank]});
            plain.first.emplace(position, start);
            free[rank] = start + (position < stages.forward_stages ? times.forward : times.backward);
            input = free[rank] + (stages.pp > 1 ? times.transfer : TimeNs{0});
        }
        visit_ends[rank].push_back(free[rank]);
        plain.end = std::max(plain.end, free[rank]);
    }
    return plain;
}

const std::vector<MovingTimes> kTimes{{TimeNs{6}, TimeNs{6}, TimeNs{0}, TimeNs{0}},
                                      {TimeNs{6}, TimeNs{6}, TimeNs{1}, TimeNs{5}},
                                      {TimeNs{6}, TimeNs{6}, TimeNs{4}, TimeNs{50}},
                                      {TimeNs{3}, TimeNs{7}, TimeNs{2}, TimeNs{20}}};

TEST(MovingStages, EveryOpRunsOnceWhereThePlacementSays) {
    eachSize([](const MovingStages& stages) {
        const Schedule order = movingOrder(stages).value();
        std::set<std::tuple<OpKind, int, int>> seen;
        for (int position = 0; position < stages.positions(); ++position) {
            const auto& list = order.ranks[stages.rankOf(position).index()];
            for (int m = 0; m < stages.microbatches; ++m) {
                const Op op = stages.opOf(position, Microbatch{m});
                EXPECT_EQ(std::count(list.begin(), list.end(), op), 1);
                seen.emplace(op.kind, op.chunk.value, m);
            }
        }
        EXPECT_EQ(seen.size(), static_cast<std::size_t>(stages.positions() * stages.microbatches));
        EXPECT_EQ(order.opCount(), seen.size());
    });
}

TEST(MovingStages, SimulationEqualsAPoolOfWorkers) {
    eachSize([](const MovingStages& stages) {
        for (const MovingTimes& times : kTimes) {
            const StepTimeline step = simulateMoving(stages, times).value();
            const Plain plain = runPlainly(stages, times);
            EXPECT_EQ(step.wall(), plain.end);
            for (const auto& [position, start] : plain.first) {
                const auto& list = step.ranks[stages.rankOf(position).index()];
                const Op first = stages.opOf(position, Microbatch{0});
                const auto found = std::ranges::find(list, first, &TimelineOp::op);
                ASSERT_NE(found, list.end());
                EXPECT_EQ(found->start, start);
            }
        }
    });
}

TEST(MovingStages, FormEqualsSimulation) {
    int compared = 0;
    eachSize([&](const MovingStages& stages) {
        for (const MovingTimes& times : kTimes) {
            const Result<MovingForm> form = movingForm(stages, times);
            const bool covered =
                times.forward == times.backward && times.weights <= stages.microbatches * times.forward;
            ASSERT_EQ(form.ok(), covered);
            if (!covered) continue;
            const StepTimeline step = simulateMoving(stages, times).value();
            EXPECT_EQ(form.value().makespan, step.wall());
            for (const auto& ops : step.ranks) {
                for (std::size_t i = static_cast<std::size_t>(stages.microbatches); i < ops.size();
                     i += static_cast<std::size_t>(stages.microbatches))
                    EXPECT_EQ(ops[i].start - ops[i - 1].end, form.value().between_visits);
            }
            ++compared;
        }
    });
    EXPECT_GT(compared, 900);
}

/// RoundPipe's claim: no bubble between visits from m = p + 1 on. It holds for transfers of at most t/p; with m = p
/// only without latency.
TEST(MovingStages, NoBubbleFromOneMicrobatchMoreThanRanks) {
    for (int p = 2; p <= 8; ++p) {
        const auto idle = [&](int m, int transfer) {
            const TimeNs t{p * 10};
            return movingForm({p, m, 2 * p, 2 * p}, {t, t, TimeNs{transfer}, TimeNs{0}}).value().between_visits;
        };
        EXPECT_EQ(idle(p + 1, 10), TimeNs{0});
        EXPECT_GT(idle(p + 1, 11), TimeNs{0});
        EXPECT_EQ(idle(p, 0), TimeNs{0});
        EXPECT_GT(idle(p, 1), TimeNs{0});
        EXPECT_GT(idle(p - 1, 0), TimeNs{0});
    }
}

TEST(MovingStages, RefusesImpossibleSizes) {
    EXPECT_FALSE(movingOrder({0, 1, 1, 1}).ok());
    EXPECT_FALSE(simulateMoving({2, 4, 0, 1}, {}).ok());
    EXPECT_FALSE(simulateMoving({2, 4, 2, 2}, {TimeNs::max(), TimeNs{1}, {}, {}}).ok());
    EXPECT_FALSE(movingOrder({1000, 1'000'000, 1000, 1000}).ok());
}

} // namespace
} // namespace bubblescope
