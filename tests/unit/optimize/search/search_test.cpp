#include "core/optimize/search/search.h"

#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/optimize/search/exact.h"
#include "core/optimize/search/list_order.h"
#include "core/optimize/search/step_bound.h"
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
            SearchRequest request = requestOf(4, 8, vpp, static_cast<std::uint64_t>(vpp + limit));
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
    SearchRequest request = requestOf(4, 6, 2, 5);
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

TEST(SearchOrder, BeatsTheBestFamilyUnderNoiseWhereItMeetsTheBoundWithout) {
    // 1F1B keeps the slowest rank busy all the time, so no order is shorter by the times as given.
    const JobControl control;
    SearchRequest request = requestOf(4, 8, 1, 5);
    request.noise = NoiseModel{.share = 0.05, .draws = 50, .seed = 1};
    request.effort = 1'000'000;
    int shorter = 0;
    for (const std::uint64_t seed : {11U, 12U, 13U, 14U}) {
        request.costs = unevenCosts(4, seed);
        const auto found = searchOrder(request, control);
        ASSERT_TRUE(found.ok() && found.value().noisy && found.value().best_family->noisy);
        shorter += found.value().noisy->mean < found.value().best_family->noisy->mean ? 1 : 0;
    }
    EXPECT_GT(shorter, 2);
}

TEST(NoisyClimb, IsNeverWorseThanItsStartAndNeverBelowTheBound) {
    const JobControl control;
    const NoiseModel noise{.share = 0.1, .draws = 20, .seed = 3};
    int shorter = 0;
    for (const int vpp : {1, 2}) {
        const CostModel costs = unevenCosts(4 * vpp, static_cast<std::uint64_t>(vpp));
        const auto problem =
            OrderProblem::make({.pp = 4, .microbatches = 8, .vpp = vpp}, costs, {.activations = {4 * vpp + 1}});
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
        const auto problem = OrderProblem::make({.pp = 4,
                                                 .microbatches = 6,
                                                 .vpp = 2,
                                                 .placement = Placement::Bidirectional,
                                                 .second = 4,
                                                 .second_copies = 2,
                                                 .split = false},
                                                request.costs, {});
        ASSERT_TRUE(problem.ok());
        EXPECT_EQ(problem.value().size(), 2 * (4 * 2 + 2 * 4));
        const std::int64_t bound = stepBound(problem.value()).time;
        EXPECT_GE(order.makespan.count(), bound);
        const ExactAnswer exact = exactOrder(problem.value(), order.makespan.count() + 1, 300'000, control);
        if (exact.complete) EXPECT_EQ(exact.makespan, order.makespan.count()) << seed;
        EXPECT_GE(exact.makespan, bound);
    }
}

TEST(OrderProblem, RejectsCopiesThatDoNotFit) {
    const CostModel costs = unevenCosts(8, 1);
    OrderProblem::Sizes sizes{.pp = 4,
                              .microbatches = 6,
                              .vpp = 2,
                              .placement = Placement::Bidirectional,
                              .second = 4,
                              .second_copies = 3,
                              .split = false};
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
