#include "core/optimize/search/exact.h"
#include "tests/bench/search/table.h"
#include "tests/unit/optimize/search/drawn_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace bubblescope::search_table {
namespace {

struct Counts {
    int cases = 0;
    int complete = 0;
    int equal = 0;
    int without_proof = 0; ///< the search had it before it tried all orders
    std::int64_t nodes = 0;
};

SearchRequest requestFor(const OrderProblem::Sizes& sizes, const CostModel& costs, const MemoryLimits& limits) {
    SearchRequest request;
    static_cast<OrderSizes&>(request) = sizes;
    request.placements = {sizes.placement};
    request.split = sizes.split ? SplitBackward::On : SplitBackward::Off;
    request.costs = costs;
    request.activations = limits.activations;
    request.effort = 200'000;
    return request;
}

void compare(const OrderProblem::Sizes& sizes, int draw, int limit, int threads, Counts& counts) {
    const CostModel costs = test::unevenCosts(
        sizes.pp * sizes.vpp,
        static_cast<std::uint64_t>(10'000 * sizes.pp + 1000 * sizes.microbatches + 100 * sizes.vpp + draw));
    MemoryLimits limits;
    const int all = sizes.pp * sizes.vpp;
    if (limit == 1) limits.activations = {all};
    if (limit == 2) limits.activations = {std::max(sizes.vpp, (all * 6 + 9) / 10)};
    const JobControl control;
    const auto problem = OrderProblem::make(sizes, costs, limits);
    if (!problem.ok()) return;
    // The branch and bound gets no order to begin with, and no limit.
    const ExactAnswer exact = exactOrder(problem.value(), std::numeric_limits<std::int64_t>::max() / 4,
                                         std::numeric_limits<std::int64_t>::max(), control);
    ++counts.cases;
    counts.complete += exact.complete ? 1 : 0;
    counts.nodes += exact.nodes;
    for (const int rounds : {0, 2}) {
        SearchRequest request = requestFor(sizes, costs, limits);
        request.rounds = rounds;
        request.threads = threads;
        const auto found = searchOrder(request, control);
        const bool equal = found.ok() && found.value().makespan.count() == exact.makespan;
        (rounds == 0 ? counts.without_proof : counts.equal) += equal ? 1 : 0;
        if (rounds == 2 && !equal)
            fmt::print("p {} m {} v {} {} draw {} limit {}: {} in place of {}\n", sizes.pp, sizes.microbatches,
                       sizes.vpp, sizes.split ? "split" : "whole", draw, limit,
                       found.ok() ? found.value().makespan.count() : -1, exact.makespan);
    }
}

} // namespace

int exhaustive(const Options& options) {
    const double begin = processorSeconds();
    Counts all;
    fmt::print("| p | cases | all orders ruled out | equal | equal after the starts | partial orders |\n"
               "|---|---|---|---|---|---|\n");
    for (int pp = 1; pp <= 4; ++pp) {
        Counts counts;
        for (int m = 1; m <= 4; ++m) {
            for (const auto& [vpp, placement] :
                 {std::pair{1, Placement::Loop}, {2, Placement::Loop}, {2, Placement::V}}) {
                for (const bool split : {true, false}) {
                    for (int limit = 0; limit < 3; ++limit) {
                        for (int draw = 0; draw < options.draws; ++draw)
                            compare({{.pp = pp, .microbatches = m, .vpp = vpp}, placement, split}, draw, limit,
                                    options.threads, counts);
                    }
                }
            }
        }
        fmt::print("| {} | {} | {} | {} | {} | {} |\n", pp, counts.cases, counts.complete, counts.equal,
                   counts.without_proof, counts.nodes);
        std::fflush(stdout);
        all.cases += counts.cases;
        all.equal += counts.equal;
        all.complete += counts.complete;
    }
    fmt::print("\n{} of {} equal, {} with all orders ruled out; {:.0f} s of processor time\n", all.equal, all.cases,
               all.complete, processorSeconds() - begin);
    return all.equal == all.cases && all.complete == all.cases ? 0 : 1;
}

} // namespace bubblescope::search_table
