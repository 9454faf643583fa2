#include "core/optimize/search/exact.h"

#include "core/cost/measured_times.h"
#include "core/graph/simulate.h"
#include "core/optimize/search/chain_times.h"
#include "core/optimize/search/order_evaluator.h"
#include "core/optimize/search/search.h"
#include "tests/support/sanitized.h"
#include "tests/unit/optimize/search/drawn_costs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <string_view>

namespace bubblescope::test {
namespace {

bool fullCampaign() {
    const char* const asked = std::getenv("BUBBLESCOPE_CAMPAIGN");
    return asked != nullptr && std::string_view(asked) == "full";
}

/// Every order of a rank that keeps to the memory; where micro-batches are alike, those of a kind and stage take turns.
class AllOrdersOfRank {
public:
    AllOrdersOfRank(const OrderProblem& problem, Rank rank) : problem_(problem), rank_(rank) {
        for (OpNumber op = 0; op < problem.size(); ++op) {
            if (problem.op(op).rank == rank) own_.push_back(op);
        }
        extend(0);
    }
    std::vector<std::vector<OpNumber>> orders;

private:
    void extend(std::int64_t held) {
        if (order_.size() == own_.size()) orders.push_back(order_);
        for (const OpNumber number : own_) {
            const NeededOp& op = problem_.op(number);
            if (placed(number)) continue;
            if (op.own != kNoNumber && !placed(op.own)) continue;
            if (problem_.uniform() && op.microbatch.value > 0 &&
                !placed(problem_.find(op.kind, Microbatch{op.microbatch.value - 1}, op.stage)))
                continue;
            if (problem_.limited() && held + op.takes + op.workspace > problem_.capacity(rank_)) continue;
            order_.push_back(number);
            extend(held + op.takes - op.frees);
            order_.pop_back();
        }
    }
    [[nodiscard]] bool placed(OpNumber op) const { return std::ranges::find(order_, op) != order_.end(); }

    const OrderProblem& problem_;
    Rank rank_;
    std::vector<OpNumber> own_;
    std::vector<OpNumber> order_;
};

/// Gives all orders to `see`.
template <class See>
void forAllOrders(const OrderProblem& problem, See see) {
    std::vector<AllOrdersOfRank> ranks;
    for (int r = 0; r < problem.sizes().pp; ++r)
        ranks.emplace_back(problem, Rank{r});
    std::vector<std::size_t> choice(ranks.size(), 0);
    RankOrders orders(ranks.size());
    while (true) {
        for (std::size_t r = 0; r < ranks.size(); ++r)
            orders[r] = ranks[r].orders[choice[r]];
        see(orders);
        std::size_t r = 0;
        while (r < ranks.size() && ++choice[r] == ranks[r].orders.size())
            choice[r++] = 0;
        if (r == ranks.size()) return;
    }
}

/// The shortest step of all orders.
std::int64_t shortestOfAll(const OrderProblem& problem) {
    OrderEvaluator evaluator(problem);
    std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
    forAllOrders(problem, [&](const RankOrders& orders) {
        if (evaluator.assign(orders)) shortest = std::min(shortest, evaluator.makespan());
    });
    return shortest;
}

struct ExactCase {
    int pp;
    int microbatches;
    int vpp;
    bool split;
    int limit;
    bool large;
};

TEST(ExactOrder, IsAsShortAsTheShortestOfAllOrders) {
    const JobControl control;
    int compared = 0;
    for (const ExactCase& c : {ExactCase{1, 3, 1, true, 0, false},
                               {2, 2, 1, true, 1, false},
                               {2, 3, 1, true, 0, false},
                               {2, 3, 1, true, 2, false},
                               {3, 2, 1, true, 2, false},
                               {4, 2, 1, true, 0, false},
                               {3, 3, 1, false, 2, false},
                               {4, 3, 1, false, 3, false},
                               {2, 2, 2, false, 3, false},
                               {2, 2, 2, false, 0, false},
                               {3, 2, 2, false, 2, false},
                               {3, 2, 2, false, 3, true}, // by far the most orders of these
                               {4, 4, 1, false, 3, true},
                               {3, 3, 1, true, 0, true},
                               {3, 3, 1, true, 2, true},
                               {2, 4, 1, true, 3, true},
                               {2, 3, 2, false, 4, true},
                               {4, 2, 2, false, 4, true},
                               {2, 2, 2, true, 3, true}}) {
        if (c.large && !fullCampaign()) continue;
        for (const Placement placement : {Placement::Loop, Placement::V}) {
            if (placement == Placement::V && c.vpp == 1) continue;
            for (std::uint64_t seed = 0; seed < (fullCampaign() ? 30 : kSanitized ? 1 : 2); ++seed) {
                const CostModel costs = unevenCosts(c.pp * c.vpp, seed);
                MemoryLimits limits;
                if (c.limit > 0) limits.activations = {c.limit};
                const std::vector<TimeNs> after = seed % 2 == 1 ? drawnAfter(c.pp, seed) : std::vector<TimeNs>{};
                const auto made = OrderProblem::make(
                    {{.pp = c.pp, .microbatches = c.microbatches, .vpp = c.vpp, .after = after}, placement, c.split},
                    costs, limits);
                ASSERT_TRUE(made.ok()) << made.error().text();
                const std::int64_t shortest = shortestOfAll(made.value());
                const ExactAnswer exact = exactOrder(made.value(), 2 * shortest, 2'000'000, control);
                EXPECT_TRUE(exact.complete);
                EXPECT_EQ(exact.makespan, shortest) << c.pp << " " << c.microbatches << " " << c.vpp << " " << seed;
                SearchRequest request;
                request.pp = c.pp;
                request.microbatches = c.microbatches;
                request.vpp = c.vpp;
                request.placements = {placement};
                request.split = c.split ? SplitBackward::On : SplitBackward::Off;
                request.costs = costs;
                request.activations = limits.activations;
                request.after = after;
                request.rounds = 1;
                request.effort = 50'000;
                const auto found = searchOrder(request, control);
                ASSERT_TRUE(found.ok()) << found.error().text();
                EXPECT_EQ(found.value().makespan.count(), shortest);
                EXPECT_TRUE(found.value().proven);
                EXPECT_LE(stepBound(made.value()).time, shortest);
                ++compared;
            }
        }
    }
    EXPECT_GT(compared, kSanitized ? 10 : 20);
}

// Halves that free parts of what their forward took, of different sizes on each stage.
TEST(ExactOrder, NoOrderWithinBytesOfMemoryBeatsTheBound) {
    const JobControl control;
    std::mt19937 random(11);
    int compared = 0;
    int forced = 0;
    for (int round = 0; round < (fullCampaign() ? 400 : 60); ++round) {
        static constexpr ExactCase kSizes[] = {{2, 3, 1, true, 0, false},
                                               {3, 2, 1, true, 0, false},
                                               {2, 2, 2, false, 0, false},
                                               {3, 3, 1, false, 0, false},
                                               {1, 2, 2, true, 0, false}};
        const ExactCase& c = kSizes[round % 5];
        const CostModel costs = unevenCosts(c.pp * c.vpp, random());
        MemoryLimits limits;
        limits.model.emplace();
        std::int64_t most = 0;
        for (int stage = 0; stage < c.pp * c.vpp; ++stage) {
            StageMemory memory;
            memory.activations.forward = 2 + static_cast<std::int64_t>(random() % 8);
            memory.activations.weight_grad =
                static_cast<std::int64_t>(random() % 10); // some I take more than they free
            memory.activations.input_grad = memory.activations.forward - memory.activations.weight_grad;
            memory.forward_workspace = static_cast<std::int64_t>(random() % 2);
            most = std::max({most, memory.activations.forward, memory.activations.weight_grad});
            limits.model->stages.push_back(memory);
        }
        limits.bytes = {c.vpp * most + 1 + static_cast<std::int64_t>(random() % 8)};
        const auto made = OrderProblem::make({{.pp = c.pp, .microbatches = c.microbatches, .vpp = c.vpp},
                                              c.vpp > 1 && round % 2 == 0 ? Placement::V : Placement::Loop,
                                              c.split},
                                             costs, limits);
        ASSERT_TRUE(made.ok()) << made.error().text();
        const std::int64_t shortest = shortestOfAll(made.value());
        if (shortest == std::numeric_limits<std::int64_t>::max()) continue;
        EXPECT_LE(stepBound(made.value()).time, shortest) << round;
        const ExactAnswer exact = exactOrder(made.value(), 2 * shortest, 2'000'000, control);
        EXPECT_TRUE(exact.complete) << round;
        EXPECT_EQ(exact.makespan, shortest) << round;
        const ChainTimes without = queueTimes(made.value(), false);
        const ChainTimes with = queueTimes(made.value());
        forced += without.head != with.head ? 1 : 0;
        ++compared;
    }
    EXPECT_GT(compared, 40);
    EXPECT_GT(forced, 20);
}

TEST(ExactOrder, NoOrderOfUnequalMicrobatchesBeatsTheBound) {
    const JobControl control;
    std::mt19937 random(3);
    const auto drawn = [&random] { return TimeNs{1 + static_cast<std::int64_t>(random() % 9)}; };
    for (int round = 0; round < 12; ++round) {
        const OrderProblem::Sizes sizes{
            {.pp = round % 2 == 0 ? 3 : 2, .microbatches = round % 2 == 0 ? 2 : 3}, Placement::Loop, round % 4 == 0};
        CostModel costs;
        costs.comm = TimeNs{1};
        auto times = std::make_shared<MeasuredTimes>();
        for (int rank = 0; rank < sizes.pp; ++rank) {
            for (int m = 0; m < sizes.microbatches; ++m) {
                const TimeNs input = drawn();
                const TimeNs weight = drawn();
                times->setOp(Rank{rank}, {OpKind::Forward, Microbatch{m}, Chunk{0}}, drawn());
                times->setOp(Rank{rank}, {OpKind::Backward, Microbatch{m}, Chunk{0}}, input + weight);
                times->setOp(Rank{rank}, {OpKind::BackwardInput, Microbatch{m}, Chunk{0}}, input);
                times->setOp(Rank{rank}, {OpKind::BackwardWeight, Microbatch{m}, Chunk{0}}, weight);
            }
        }
        costs.measured = times;
        const auto problem = OrderProblem::make(sizes, costs, {});
        ASSERT_TRUE(problem.ok()) << problem.error().text();
        const std::int64_t shortest = shortestOfAll(problem.value());
        EXPECT_LE(stepBound(problem.value()).time, shortest) << round;
        SearchRequest request;
        request.pp = sizes.pp;
        request.microbatches = sizes.microbatches;
        request.split = sizes.split ? SplitBackward::On : SplitBackward::Off;
        request.placements = {Placement::Loop};
        request.costs = costs;
        request.rounds = 4;
        const auto found = searchOrder(request, control);
        ASSERT_TRUE(found.ok()) << found.error().text();
        EXPECT_EQ(found.value().makespan.count(), shortest) << round;
        EXPECT_LE(found.value().bound.count(), shortest) << round;
    }
}

TEST(ExactOrder, NoOverlappedPairsBeatTheBound) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const bool split = seed % 3 == 0;
        const OrderProblem::Sizes sizes{{.pp = 2, .microbatches = 3, .pairs = true}, Placement::Loop, split};
        CostModel costs = unevenCosts(2, seed);
        TimeNs longest{0};
        TimeNs both{0};
        for (const OpTimes& times : costs.stages) {
            const TimeNs gradient = split ? times.input_grad : times.backward;
            longest = std::max({longest, times.forward, gradient});
            both = std::max(both, times.forward + gradient);
        }
        costs.overlapped = (longest + both) / 2;
        const auto problem = OrderProblem::make(sizes, costs, {});
        ASSERT_TRUE(problem.ok()) << problem.error().text();
        std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
        forAllOrders(problem.value(), [&](const RankOrders& orders) {
            for (const bool paired : {false, true}) {
                Schedule schedule = scheduleOf(problem.value(), orders);
                if (paired) pairNeighbours(schedule);
                const auto step = simulate(schedule, costs);
                if (step.ok()) shortest = std::min(shortest, step.value().wall().count());
            }
        });
        EXPECT_LE(stepBound(problem.value()).time, shortest) << seed;
    }
}

} // namespace
} // namespace bubblescope::test
