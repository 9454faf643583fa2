#include "core/optimize/search/search.h"

#include "core/graph/simulate.h"
#include "core/graph/validate.h"
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
}

} // namespace
} // namespace bubblescope::test
