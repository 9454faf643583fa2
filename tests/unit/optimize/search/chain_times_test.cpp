#include "core/optimize/search/chain_times.h"

#include "core/optimize/search/list_order.h"
#include "core/optimize/search/order_evaluator.h"
#include "core/optimize/search/step_bound.h"
#include "tests/unit/optimize/search/drawn_costs.h"

#include <gtest/gtest.h>

#include <random>

namespace bubblescope::test {
namespace {

OrderProblem problemOf(OrderProblem::Sizes sizes, const CostModel& costs, int limit) {
    MemoryLimits limits;
    if (limit > 0) limits.activations = {limit};
    auto made = OrderProblem::make(sizes, costs, limits);
    EXPECT_TRUE(made.ok());
    return std::move(made).value();
}

/// The same order with the micro-batches of each kind and stage in turn.
RankOrders inTurn(const OrderProblem& problem, RankOrders orders) {
    std::vector<int> next(3 * static_cast<std::size_t>(problem.sizes().pp * problem.sizes().vpp), 0);
    for (auto& order : orders) {
        for (OpNumber& number : order) {
            const NeededOp& op = problem.op(number);
            const std::size_t kind = op.kind == OpKind::Forward ? 0 : op.kind == OpKind::BackwardWeight ? 2 : 1;
            number = problem.find(op.kind, Microbatch{next[3 * op.stage.index() + kind]++}, op.stage);
        }
    }
    return orders;
}

TEST(ChainTimes, HoldInEveryOrder) {
    std::mt19937_64 random(7);
    int orders = 0;
    for (const Placement placement : {Placement::Loop, Placement::V}) {
        for (const int vpp : {1, 2, 3}) {
            for (const bool split : {false, true}) {
                for (const int limit : {0, 4, 7}) {
                    const CostModel costs = unevenCosts(4 * vpp, random());
                    const OrderProblem problem =
                        problemOf({{.pp = 4, .microbatches = 9, .vpp = vpp}, placement, split}, costs, limit);
                    const ChainTimes chains = chainTimes(problem);
                    const ChainTimes queues = queueTimes(problem);
                    const StepBound bound = stepBound(problem);
                    for (const double in_flight : {1.0, 2.0, 100.0}) {
                        ListRule rule;
                        rule.in_flight = in_flight;
                        rule.noise = 0.1;
                        rule.seed = random();
                        const RankOrders order = inTurn(problem, listOrder(problem, rule));
                        OrderEvaluator evaluator(problem);
                        ASSERT_TRUE(evaluator.assign(order));
                        ASSERT_TRUE(fitsMemory(problem, order));
                        ++orders;
                        EXPECT_LE(bound.time, evaluator.makespan());
                        for (OpNumber op = 0; op < problem.size(); ++op) {
                            const auto at = static_cast<std::size_t>(op);
                            ASSERT_LE(chains.head[at], queues.head[at]);
                            ASSERT_LE(chains.tail[at], queues.tail[at]);
                            ASSERT_LE(queues.head[at], evaluator.start(op));
                            ASSERT_LE(queues.tail[at], evaluator.makespan() - evaluator.start(op));
                        }
                    }
                }
            }
        }
    }
    EXPECT_EQ(orders, 108);
}

TEST(ChainTimes, CountWhatMustRunBefore) {
    // One rank, F of 2, B of 3, two micro-batches: the second B comes after both F and the first B.
    CostModel costs;
    costs.times = {TimeNs{2}, TimeNs{3}, TimeNs{2}, TimeNs{1}, TimeNs{0}};
    const OrderProblem problem = problemOf({{.pp = 1, .microbatches = 2}, Placement::Loop, false}, costs, 0);
    const ChainTimes times = queueTimes(problem);
    const auto head = [&](OpKind kind, int microbatch) {
        return times.head[static_cast<std::size_t>(problem.find(kind, Microbatch{microbatch}, Stage{0}))];
    };
    EXPECT_EQ(head(OpKind::Forward, 1), 2);
    EXPECT_EQ(head(OpKind::Backward, 0), 2);
    EXPECT_EQ(head(OpKind::Backward, 1), 7);
    EXPECT_EQ(times.tail[static_cast<std::size_t>(problem.find(OpKind::Forward, Microbatch{0}, Stage{0}))], 10);
    // With room for one, the second forward waits for the first backward.
    const OrderProblem narrow = problemOf({{.pp = 1, .microbatches = 2}, Placement::Loop, false}, costs, 1);
    EXPECT_EQ(queueTimes(narrow).head[static_cast<std::size_t>(narrow.find(OpKind::Forward, Microbatch{1}, Stage{0}))],
              5);
}

TEST(StepBound, IsMetWhereMemoryMakesMicrobatchesWait) {
    // 16 ranks with room for 16 activations: the bound was 8 % below the best known order before queues were counted.
    const CostModel costs = unevenCosts(16, 16321);
    const OrderProblem problem = problemOf({{.pp = 16, .microbatches = 32}}, costs, 16);
    EXPECT_EQ(stepBound(problem).time, 12'883'000);
}

} // namespace
} // namespace bubblescope::test
