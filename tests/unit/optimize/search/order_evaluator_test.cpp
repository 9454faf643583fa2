#include "core/optimize/search/order_evaluator.h"

#include "core/cost/measured_times.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/optimize/search/list_order.h"
#include "tests/unit/optimize/search/drawn_costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace bubblescope::test {
namespace {

/// Links, bandwidths and measured transfers on top of uneven stages.
CostModel drawnCosts(int pp, int vpp, int variant) {
    std::mt19937_64 random(static_cast<std::uint64_t>(100 * pp + 10 * vpp + variant));
    CostModel costs = unevenCosts(pp * vpp, random());
    if (variant % 2 == 1) {
        costs.transfers.activation_bytes = 1'000'000;
        costs.transfers.gradient_bytes = 3'000'000;
        costs.transfers.bytes_per_second = 50'000'000'000;
        costs.transfers.links.push_back({Rank{0}, Rank{pp - 1}, TimeNs{70'000}, 1'000'000'000});
    }
    costs.transfers.on_compute_stream = variant % 3 == 2;
    if (variant == 3) {
        auto measured = std::make_shared<MeasuredTimes>();
        for (int r = 0; r < pp; ++r) {
            measured->setOp(Rank{r}, {OpKind::Forward, Microbatch{1}, Chunk{0}}, drawnTime(random, 0, 300));
            measured->setOp(Rank{r}, {OpKind::BackwardWeight, Microbatch{2}, Chunk{0}}, drawnTime(random, 0, 300));
        }
        measured->setTransfer(Payload::Activation, Microbatch{0}, Stage{1}, 0, TimeNs{123'456});
        costs.measured = std::move(measured);
    }
    return costs;
}

/// An order's step by the engine that everything else uses.
std::int64_t simulated(const OrderEvaluator& order) {
    const auto step = simulate(scheduleOf(order.problem(), order.orders(), order.fused()), order.problem().costs());
    EXPECT_TRUE(step.ok()) << step.error().text();
    return step.ok() ? stepLength(order.problem(), step.value()).count() : -1;
}

struct Case {
    int pp;
    int microbatches;
    int vpp;
    Placement placement;
    bool split;
};

const std::vector<Case> kCases{
    {1, 3, 1, Placement::Loop, true},          {2, 5, 1, Placement::Loop, false}, {4, 8, 1, Placement::Loop, true},
    {3, 4, 2, Placement::Loop, true},          {4, 6, 2, Placement::V, true},     {5, 7, 3, Placement::V, false},
    {4, 8, 2, Placement::Bidirectional, true}, {8, 16, 1, Placement::Loop, true}};

Result<OrderProblem> problemOf(const Case& c, const CostModel& costs, const MemoryLimits& limits = {},
                               const std::vector<TimeNs>& after = {}) {
    return OrderProblem::make({{.pp = c.pp,
                                .microbatches = c.microbatches,
                                .vpp = c.vpp,
                                .second = c.placement == Placement::Bidirectional ? c.microbatches / 2 : 0,
                                .after = after},
                               c.placement,
                               c.split},
                              costs, limits);
}

TEST(OrderEvaluator, EqualsTheSimulationAfterEveryMove) {
    int moves = 0;
    int deadlocks = 0;
    int at_estimate = 0;
    for (const Case& c : kCases) {
        for (int variant = 0; variant < 4; ++variant) {
            const CostModel costs = drawnCosts(c.pp, c.vpp, variant);
            const auto made = problemOf(c, costs, {}, variant == 1 ? drawnAfter(c.pp, 5) : std::vector<TimeNs>{});
            ASSERT_TRUE(made.ok()) << made.error().text();
            const OrderProblem& problem = made.value();
            OrderEvaluator order(problem);
            ASSERT_TRUE(order.assign(listOrder(problem, {})));
            EXPECT_EQ(order.makespan(), simulated(order));
            std::mt19937_64 random(7);
            for (int i = 0; i < 60; ++i) {
                const auto rank = random() % order.orders().size();
                const auto length = static_cast<std::int32_t>(order.orders()[rank].size());
                const OrderMove move{static_cast<std::int32_t>(rank),
                                     static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(length)),
                                     static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(length))};
                if (!order.allowed(move)) continue;
                const std::int64_t before = order.makespan();
                const std::int64_t estimate = order.estimate(move);
                const RankOrders unchanged = order.orders();
                if (!order.apply(move)) {
                    ++deadlocks;
                    EXPECT_EQ(order.orders(), unchanged);
                    RankOrders moved = unchanged;
                    auto& list = moved[rank];
                    const OpNumber op = list[static_cast<std::size_t>(move.from)];
                    list.erase(list.begin() + move.from);
                    list.insert(list.begin() + move.to, op);
                    EXPECT_FALSE(simulate(scheduleOf(problem, moved), costs).ok()) << "it runs, after all";
                    continue;
                }
                ++moves;
                EXPECT_EQ(order.makespan(), simulated(order));
                at_estimate += order.makespan() >= estimate ? 1 : 0;
                EXPECT_LE(order.makespan(), std::max(estimate, before));
                for (OpNumber op = 0; op < problem.size(); ++op)
                    EXPECT_LE(order.start(op) + order.tail(op), order.makespan());
            }
        }
    }
    EXPECT_GT(moves, 400);
    EXPECT_GT(10 * at_estimate, 8 * moves);
    EXPECT_GT(deadlocks, 20);
}

TEST(OrderEvaluator, FusesHalvesIntoWholeBackwards) {
    const CostModel costs = drawnCosts(4, 1, 1);
    const auto made = problemOf({4, 6, 1, Placement::Loop, true}, costs);
    ASSERT_TRUE(made.ok());
    OrderEvaluator order(made.value());
    ASSERT_TRUE(order.assign(listOrder(made.value(), {.forward_first = true})));
    int fused = 0;
    for (OpNumber op = 0; op < made.value().size(); ++op) {
        const NeededOp& needs = made.value().op(op);
        if (needs.kind != OpKind::BackwardInput || order.next(op) != needs.own_next) continue;
        order.fuse(op, true);
        EXPECT_EQ(order.makespan(), simulated(order));
        ++fused;
        if (fused % 2 == 0) continue;
        order.fuse(op, false);
        EXPECT_EQ(order.makespan(), simulated(order));
    }
    EXPECT_GT(fused, 3);
}

TEST(OrderEvaluator, FusesHalvesWhereOutputsMayLeaveLater) {
    int fused = 0;
    for (const Case& c : kCases) {
        if (!c.split) continue;
        const CostModel costs = drawnCosts(c.pp, c.vpp, 1);
        const auto made = problemOf(c, costs);
        ASSERT_TRUE(made.ok());
        OrderEvaluator order(made.value());
        ASSERT_TRUE(order.assign(listOrder(made.value(), {.forward_first = true})));
        const std::int64_t before = order.makespan();
        std::vector<OpNumber> adjacent;
        for (OpNumber op = 0; op < made.value().size(); ++op) {
            const NeededOp& needs = made.value().op(op);
            if (needs.kind == OpKind::BackwardInput && order.next(op) == needs.own_next) adjacent.push_back(op);
        }
        order.fuseSlack(adjacent);
        EXPECT_EQ(order.makespan(), before);
        EXPECT_EQ(order.makespan(), simulated(order));
        fused += static_cast<int>(std::ranges::count(order.fused(), char{1}));
    }
    EXPECT_GT(fused, 20);
}

TEST(OrderEvaluator, KeepsToTheMemory) {
    for (const Case& c : kCases) {
        if (c.placement == Placement::Bidirectional) continue;
        const CostModel costs = drawnCosts(c.pp, c.vpp, 0);
        for (const int limit : {c.vpp, c.vpp + 1, c.pp * c.vpp}) {
            const auto made = problemOf(c, costs, {.activations = {limit}});
            ASSERT_TRUE(made.ok()) << made.error().text();
            OrderEvaluator order(made.value());
            ASSERT_TRUE(order.assign(listOrder(made.value(), {}))) << c.pp << " " << limit;
            std::mt19937_64 random(11);
            for (int i = 0; i < 100; ++i) {
                const auto rank = random() % order.orders().size();
                const auto length = order.orders()[rank].size();
                const OrderMove move{static_cast<std::int32_t>(rank), static_cast<std::int32_t>(random() % length),
                                     static_cast<std::int32_t>(random() % length)};
                if (order.allowed(move)) (void)order.apply(move);
            }
            const auto problems = validate(scheduleOf(made.value(), order.orders()), {.memory_limit = limit});
            EXPECT_TRUE(problems.empty()) << problems.front().message.text();
        }
        const auto none = problemOf(c, costs, {.activations = {c.vpp - 1}});
        ASSERT_FALSE(none.ok());
        EXPECT_EQ(none.error().kind, ErrorKind::Input);
        EXPECT_NE(none.error().text().find("rank 0"), std::string::npos) << none.error().text();
    }
}

} // namespace
} // namespace bubblescope::test
