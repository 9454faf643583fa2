#include "core/optimize/search/justify.h"

#include "core/graph/simulate.h"
#include "core/optimize/search/list_order.h"
#include "tests/unit/optimize/search/drawn_costs.h"

#include <gtest/gtest.h>

namespace bubblescope::test {
namespace {

struct JustifyCase {
    int pp;
    int microbatches;
    int vpp;
    Placement placement;
    bool split;
    int limit; ///< activations; 0 = none
};

const std::vector<JustifyCase> kJustifyCases{
    {1, 3, 1, Placement::Loop, true, 0},  {2, 5, 1, Placement::Loop, false, 2},
    {4, 8, 1, Placement::Loop, true, 3},  {4, 8, 2, Placement::Loop, true, 8},
    {4, 6, 2, Placement::V, true, 6},     {5, 7, 3, Placement::V, false, 9},
    {8, 16, 1, Placement::Loop, true, 8}, {4, 8, 2, Placement::Bidirectional, true, 0},
};

Result<OrderProblem> justifyProblem(const JustifyCase& c, const CostModel& costs,
                                    const std::vector<TimeNs>& after = {}) {
    MemoryLimits limits;
    if (c.limit > 0) limits.activations = {c.limit};
    return OrderProblem::make({{.pp = c.pp,
                                .microbatches = c.microbatches,
                                .vpp = c.vpp,
                                .second = c.placement == Placement::Bidirectional ? c.microbatches / 2 : 0,
                                .after = after},
                               c.placement,
                               c.split},
                              costs, limits);
}

/// Random moves that memory allows, so that orders are none that a rule would make.
void shuffle(OrderEvaluator& order, std::mt19937_64& random) {
    for (int i = 0; i < 200; ++i) {
        const auto rank = random() % order.orders().size();
        const auto length = order.orders()[rank].size();
        const OrderMove move{static_cast<std::int32_t>(rank), static_cast<std::int32_t>(random() % length),
                             static_cast<std::int32_t>(random() % length)};
        if (order.allowed(move)) (void)order.apply(move);
    }
}

TEST(Justify, NeverLengthensAStepAndKeepsToTheMemory) {
    int shorter = 0;
    int orders = 0;
    for (const JustifyCase& c : kJustifyCases) {
        for (const bool blocking : {false, true}) {
            for (std::uint64_t seed = 0; seed < 6; ++seed) {
                CostModel costs = unevenCosts(c.pp * c.vpp, seed);
                costs.transfers.on_compute_stream = blocking;
                if (seed == 5) costs.stages.front().weight_grad = costs.stages.back().forward = TimeNs{0};
                const auto made = justifyProblem(c, costs, seed == 4 ? drawnAfter(c.pp, seed) : std::vector<TimeNs>{});
                ASSERT_TRUE(made.ok()) << made.error().text();
                OrderEvaluator order(made.value());
                ASSERT_TRUE(order.assign(listOrder(made.value(), {})));
                std::mt19937_64 random(seed);
                shuffle(order, random);
                const std::int64_t before = order.makespan();
                const bool changed = justify(order, 10, JobControl{});
                EXPECT_EQ(changed, order.makespan() < before);
                EXPECT_LE(order.makespan(), before);
                EXPECT_TRUE(fitsMemory(made.value(), order.orders()));
                const auto step = simulate(scheduleOf(made.value(), order.orders()), costs);
                ASSERT_TRUE(step.ok()) << step.error().text();
                EXPECT_EQ(stepLength(made.value(), step.value()).count(), order.makespan());
                shorter += changed ? 1 : 0;
                ++orders;
            }
        }
    }
    EXPECT_GT(shorter, orders / 2); // shuffled orders leave much to gain
}

// Two ranks of one micro-batch each way leave a gap before B0 on rank 0, into which F1 fits.
TEST(Justify, FillsAGapThatIsLongEnough) {
    CostModel costs;
    costs.times = makeOpTimes(TimeNs{10}, TimeNs{20}, {}, {}).value();
    const auto made = justifyProblem({2, 2, 1, Placement::Loop, false, 0}, costs);
    ASSERT_TRUE(made.ok());
    const OrderProblem& problem = made.value();
    const auto find = [&](OpKind kind, int microbatch, int stage) {
        return problem.find(kind, Microbatch{microbatch}, Stage{stage});
    };
    OrderEvaluator order(problem);
    ASSERT_TRUE(order.assign({{find(OpKind::Forward, 0, 0), find(OpKind::Backward, 0, 0), find(OpKind::Forward, 1, 0),
                               find(OpKind::Backward, 1, 0)},
                              {find(OpKind::Forward, 0, 1), find(OpKind::Backward, 0, 1), find(OpKind::Forward, 1, 1),
                               find(OpKind::Backward, 1, 1)}}));
    EXPECT_EQ(order.makespan(), 120);
    EXPECT_TRUE(justify(order, 10, JobControl{}));
    EXPECT_EQ(order.makespan(), 90);
    EXPECT_EQ(order.orders()[0], (std::vector<OpNumber>{find(OpKind::Forward, 0, 0), find(OpKind::Forward, 1, 0),
                                                        find(OpKind::Backward, 0, 0), find(OpKind::Backward, 1, 0)}));
}

} // namespace
} // namespace bubblescope::test
