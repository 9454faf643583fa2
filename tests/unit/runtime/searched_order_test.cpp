// Orders that no family has, as the search finds them for uneven stages, executed by the engine: the reference's
// weights, and on the emulated clock the very times that the search predicts.

#include "core/optimize/search/search.h"
#include "tests/support/sanitized.h"
#include "tests/unit/optimize/search/drawn_costs.h"
#include "tests/unit/runtime/engine_run.h"
#include "tests/unit/runtime/trained_run.h"

#include <gtest/gtest.h>

#include <vector>

namespace bubblescope::runtime {
namespace {

FoundOrder searched(int pp, int microbatches, int vpp, const CostModel& costs) {
    SearchRequest request;
    request.pp = pp;
    request.microbatches = microbatches;
    request.vpp = vpp;
    request.costs = costs;
    request.activations = {pp * vpp - 1};
    request.rounds = 1;
    JobControl control;
    auto found = searchOrder(request, control);
    EXPECT_TRUE(found.ok()) << found.error().text();
    return std::move(found).value();
}

struct Size {
    int pp, microbatches, vpp;
};

class SearchedOrder : public ::testing::TestWithParam<Size> {};

TEST_P(SearchedOrder, TakesThePredictedTime) {
    const auto [pp, microbatches, vpp] = GetParam();
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        CostModel costs = ::bubblescope::test::unevenCosts(pp * vpp, seed);
        const FoundOrder found = searched(pp, microbatches, vpp, costs);
        test::EngineRun run(found.schedule, costs);
        const Result<EngineResult> result = run.run();
        ASSERT_TRUE(result.ok()) << result.error().text();
        test::expectEqualsSimulation(run);
        const auto step = simulate(found.schedule, costs);
        ASSERT_TRUE(step.ok());
        EXPECT_EQ(step.value().wall(), found.makespan);
    }
}

TEST_P(SearchedOrder, TrainsToTheReferencesWeights) {
    const auto [pp, microbatches, vpp] = GetParam();
    test::expectTheReferencesWeights(
        test::smallRun(searched(pp, microbatches, vpp, ::bubblescope::test::unevenCosts(pp * vpp, 7)).schedule));
}

/// Searching takes a sanitized program long (p = 3, m = 5, v = 2: two minutes), and is the same work for every size.
std::vector<Size> sizes() {
    if (::bubblescope::test::kSanitized) return {{2, 4, 1}, {2, 3, 2}};
    return {{2, 4, 1}, {4, 8, 1}, {3, 5, 2}, {4, 6, 2}, {8, 12, 1}};
}

INSTANTIATE_TEST_SUITE_P(Sizes, SearchedOrder, ::testing::ValuesIn(sizes()), [](const auto& test) {
    return "p" + std::to_string(test.param.pp) + "m" + std::to_string(test.param.microbatches) + "v" +
           std::to_string(test.param.vpp);
});

} // namespace
} // namespace bubblescope::runtime
