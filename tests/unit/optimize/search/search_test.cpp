#include "core/optimize/search/search.h"

#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/optimize/search/exact.h"
#include "core/optimize/search/list_order.h"
#include "core/optimize/search/step_bound.h"
#include "tests/support/sanitized.h"
#include "tests/unit/optimize/search/drawn_costs.h"

#include <gtest/gtest.h>

namespace bubblescope::test {
namespace {

SearchRequest requestOf(int pp, int microbatches, int vpp, std::uint64_t seed) {
    SearchRequest request;
    request.pp = pp;
    request.microbatches = microbatches;
    request.vpp = vpp;
    request.costs = unevenCosts(pp * vpp, seed);
    request.rounds = 2;
    request.effort = 200'000;
    return request;
}

TEST(SearchOrder, IsNeverWorseThanTheBestFamilyNorBetterThanTheBound) {
    const JobControl control;
    for (const int vpp : {1, 2}) {
        for (const int limit : {0, 4 * vpp, 6 * vpp}) {
            SearchRequest request = requestOf(4, kSanitized ? 5 : 8, vpp, static_cast<std::uint64_t>(vpp + limit));
            if (limit > 0) request.activations = {limit};
            const auto found = searchOrder(request, control);
            ASSERT_TRUE(found.ok()) << found.error().text();
            const FoundOrder& order = found.value();
            EXPECT_GE(order.makespan, order.bound);
            EXPECT_FALSE(order.reason.empty());
            ASSERT_TRUE(order.best_family);
            EXPECT_LE(order.makespan, order.best_family->makespan);
            ValidateOptions options;
            if (limit > 0) options.memory_limit = limit;
            EXPECT_TRUE(validate(order.schedule, options).empty());
            const auto step = simulate(order.schedule, request.costs);
            ASSERT_TRUE(step.ok());
            EXPECT_EQ(step.value().wall(), order.makespan);
        }
    }
}

TEST(SearchOrder, GivesTheSameAnswerOnAnyNumberOfThreads) {
    const JobControl control;
    SearchRequest request = requestOf(kSanitized ? 3 : 4, 6, 2, 5);
    request.activations = {7};
    request.threads = 1;
    const auto one = searchOrder(request, control);
    request.threads = 3;
    const auto three = searchOrder(request, control);
    ASSERT_TRUE(one.ok() && three.ok());
    EXPECT_EQ(one.value().schedule.ranks, three.value().schedule.ranks);
    EXPECT_EQ(one.value().makespan, three.value().makespan);
    EXPECT_EQ(one.value().moves, three.value().moves);
}

TEST(SearchOrder, StopsWhenAskedAndKeepsWhatItHas) {
    const JobControl control;
    SearchRequest request = requestOf(6, 12, 1, 9);
    request.activations = {3};
    request.rounds = 1000;
    int calls = 0;
    TimeNs last{0};
    const auto found = searchOrder(request, control, [&](const SearchProgress& progress) {
        EXPECT_GE(progress.makespan, progress.bound);
        EXPECT_TRUE(calls == 0 || progress.makespan <= last);
        EXPECT_FALSE(progress.reason.text().empty());
        const auto step = simulate(progress.best(), request.costs);
        EXPECT_TRUE(step.ok() && step.value().wall() == progress.makespan);
        last = progress.makespan;
        return ++calls < 3;
    });
    ASSERT_TRUE(found.ok()) << found.error().text();
    EXPECT_LE(found.value().rounds, 2);
    EXPECT_LE(found.value().makespan, last);
    EXPECT_EQ(calls, found.value().proven && calls < 3 ? calls : 3);
}

TEST(SearchOrder, PrefersOrdersThatNoiseDoesNotBreak) {
    const JobControl control;
    SearchRequest request = requestOf(4, 8, 1, 3);
    request.noise = NoiseModel{.share = 0.05, .draws = 50, .seed = 1};
    const auto found = searchOrder(request, control);
    ASSERT_TRUE(found.ok()) << found.error().text();
    ASSERT_TRUE(found.value().noisy && found.value().best_family && found.value().best_family->noisy);
    EXPECT_LE(found.value().noisy->mean, found.value().best_family->noisy->mean);
    EXPECT_GE(found.value().noisy->late, found.value().noisy->mean);
    EXPECT_LE(found.value().noisy->late, found.value().best_family->noisy->late);
    ASSERT_TRUE(found.value().noisy_bound);
    EXPECT_LE(*found.value().noisy_bound, found.value().noisy->mean);
}

TEST(SearchOrder, GainsUnderNoiseWhatTheBoundOfTheDrawsLeaves) {
    // Families keep the slowest rank busy all the time here, so no order is shorter by the times as given. Under noise
    // orders differ, but some families are close to what no order can beat.
    const JobControl control;
    SearchRequest request = requestOf(4, 8, 1, 5);
    request.noise = NoiseModel{.share = 0.05, .draws = 50, .seed = 1};
    request.effort = 1'000'000;
    int shorter = 0;
    for (const std::uint64_t seed : {11U, 12U, 13U, 14U}) {
        request.costs = unevenCosts(4, seed);
        const auto found = searchOrder(request, control);
        ASSERT_TRUE(found.ok() && found.value().noisy && found.value().best_family->noisy);
        const std::int64_t ours = found.value().noisy->mean;
        const std::int64_t theirs = found.value().best_family->noisy->mean;
        EXPECT_TRUE(ours < theirs || theirs - *found.value().noisy_bound < theirs / 500) << seed;
        shorter += ours < theirs ? 1 : 0;
    }
    EXPECT_GT(shorter, 0);
}

TEST(NoisyClimb, IsNeverWorseThanItsStartAndNeverBelowTheBound) {
    const JobControl control;
    const NoiseModel noise{.share = 0.1, .draws = 20, .seed = 3};
    int shorter = 0;
    for (const int vpp : {1, 2}) {
        const CostModel costs = unevenCosts(4 * vpp, static_cast<std::uint64_t>(vpp));
        const auto problem =
            OrderProblem::make({{.pp = 4, .microbatches = 8, .vpp = vpp}}, costs, {.activations = {4 * vpp + 1}});
        ASSERT_TRUE(problem.ok());
        const RankOrders start = listOrder(problem.value(), {});
        const Improved better =
            improveUnderNoise(problem.value(), start, noise, {.seed = 1, .effort = 3'000'000}, control);
        EXPECT_TRUE(fitsMemory(problem.value(), better.orders));
        const std::int64_t before = noisySteps(problem.value(), start, {}, noise).mean;
        const std::int64_t after = noisySteps(problem.value(), better.orders, {}, noise).mean;
        EXPECT_LE(after, before);
        shorter += after < before ? 1 : 0;
        const auto bound = noisyBound(problem.value(), noise, control);
        ASSERT_TRUE(bound);
        EXPECT_LE(*bound, after);
        EXPECT_GT(*bound, after / 2);
    }
    EXPECT_EQ(shorter, 2);
}

/// Two models on four ranks, the second in two copies of two stages.
TEST(SearchOrder, OrdersCopiesOfASecondModelAsWellAsExactSearch) {
    const JobControl control;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        SearchRequest request = requestOf(4, 2 + 4, 2, seed);
        request.placements = {Placement::Bidirectional};
        request.second = 4;
        request.second_copies = 2;
        request.split = SplitBackward::Off;
        const auto found = searchOrder(request, control);
        ASSERT_TRUE(found.ok()) << found.error().text();
        const FoundOrder& order = found.value();
        EXPECT_TRUE(validate(order.schedule).empty());
        const auto step = simulate(order.schedule, request.costs);
        ASSERT_TRUE(step.ok());
        EXPECT_EQ(step.value().wall(), order.makespan);
        const auto problem = OrderProblem::make(
            {{.pp = 4, .microbatches = 6, .vpp = 2, .second = 4, .second_copies = 2}, Placement::Bidirectional, false},
            request.costs, {});
        ASSERT_TRUE(problem.ok());
        EXPECT_EQ(problem.value().size(), 2 * (4 * 2 + 2 * 4));
        const std::int64_t bound = stepBound(problem.value()).time;
        EXPECT_GE(order.makespan.count(), bound);
        const ExactAnswer exact = exactOrder(problem.value(), order.makespan.count() + 1, 300'000, control);
        if (exact.complete) {
            EXPECT_EQ(exact.makespan, order.makespan.count()) << seed;
        }
        EXPECT_GE(exact.makespan, bound);
    }
}

TEST(StepBound, CountsTheWaitForTheFirstGradientOnAFullRank) {
    // Stages of 1, of which the last, on rank 1, takes 10 a forward and 10 a gradient. Its first forward arrives at 3.
    // Rank 1 has memory for two forwards until then, one of which that forward needs: all but one of its forwards of
    // stage 1, and all of stage 3, come later.
    CostModel costs;
    for (const int time : {1, 1, 1, 10}) {
        OpTimes times;
        times.forward = times.backward = TimeNs{time};
        costs.stages.push_back(times);
    }
    for (const int microbatches : {3, 4}) {
        const auto problem =
            OrderProblem::make({{.pp = 2, .microbatches = microbatches, .vpp = 2}, Placement::Loop, false}, costs,
                               {.activations = {8, 2}});
        ASSERT_TRUE(problem.ok());
        const std::int64_t all = std::int64_t{microbatches} * (1 + 1 + 10 + 10);
        const StepBound bound = stepBound(problem.value());
        EXPECT_GE(bound.time, 3 + all - 1);
        const JobControl control;
        const ExactAnswer exact = exactOrder(problem.value(), 1'000, 1'000'000, control);
        ASSERT_TRUE(exact.complete);
        EXPECT_LE(bound.time, exact.makespan);
    }
}

TEST(StepBound, IsNoMoreThanTheShortestOrderWithinAnyMemory) {
    const JobControl control;
    int close = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const int vpp = 1 + static_cast<int>(seed % 2);
        CostModel costs = unevenCosts(2 * vpp, seed);
        costs.stages.back().forward *= 5; // an output head
        costs.stages.back().input_grad *= 3;
        costs.stages.back().backward = costs.stages.back().input_grad + costs.stages.back().weight_grad;
        const bool split = seed % 3 != 0;
        const Placement placement = seed % 4 < 2 ? Placement::Loop : Placement::V;
        const auto problem = OrderProblem::make(
            {{.pp = 2, .microbatches = 3, .vpp = vpp}, placement, split}, costs,
            {.activations = {vpp + static_cast<int>(seed % 3), vpp + static_cast<int>(seed / 3 % 3)}});
        ASSERT_TRUE(problem.ok());
        const ExactAnswer exact = exactOrder(problem.value(), 1'000'000'000, 2'000'000, control);
        ASSERT_TRUE(exact.complete) << seed;
        const std::int64_t bound = stepBound(problem.value()).time;
        EXPECT_LE(bound, exact.makespan) << seed;
        close += bound * 100 >= exact.makespan * 95 ? 1 : 0;
    }
    EXPECT_GT(close, 20);
}

TEST(OrderProblem, RejectsCopiesThatDoNotFit) {
    const CostModel costs = unevenCosts(8, 1);
    OrderProblem::Sizes sizes{
        {.pp = 4, .microbatches = 6, .vpp = 2, .second = 4, .second_copies = 3}, Placement::Bidirectional, false};
    EXPECT_FALSE(OrderProblem::make(sizes, costs, {}).ok()); // 4 ranks
    sizes.second_copies = 4;
    EXPECT_TRUE(OrderProblem::make(sizes, costs, {}).ok());
    sizes.second = 3;
    EXPECT_FALSE(OrderProblem::make(sizes, costs, {}).ok()); // 3 micro-batches
    sizes.placement = Placement::V;
    EXPECT_FALSE(OrderProblem::make(sizes, costs, {}).ok());
}

} // namespace
} // namespace bubblescope::test
