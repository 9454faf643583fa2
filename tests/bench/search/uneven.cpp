#include "tests/bench/search/table.h"
#include "tests/unit/optimize/search/drawn_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace bubblescope::search_table {

int uneven(const Options& options) {
    std::vector<double> gaps;
    int worse = 0;
    fmt::print("| p | m | v | memory | step, ms | bound, ms | gap | to the best family | best family | rounds | s "
               "| processor, s |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const int pp : {4, 8, 16, 32, 64}) {
        if (pp < options.smallest || pp > options.largest) continue;
        for (const int m : {2 * pp, 4 * pp}) {
            for (const int vpp : {1, 2, 4}) {
                if (!options.only.empty() && options.only != fmt::format("v{}", vpp)) continue;
                for (const int percent : {100, 150, 200}) {
                    SearchRequest request;
                    request.pp = pp;
                    request.microbatches = m;
                    request.vpp = vpp;
                    request.costs = test::unevenCosts(pp * vpp, static_cast<std::uint64_t>(1000 * pp + 10 * m + vpp));
                    request.activations = {pp * vpp * percent / 100};
                    limit(request, options, pp >= 64 ? 60 : pp >= 32 ? 30 : 10);
                    const auto begin = std::chrono::steady_clock::now();
                    const double processor = processorSeconds();
                    const auto found = searchOrder(request, JobControl{});
                    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
                    if (!found.ok()) {
                        fmt::print("{} {} {} {}: {}\n", pp, m, vpp, percent, found.error().text());
                        return 1;
                    }
                    const FoundOrder& order = found.value();
                    gaps.push_back(order.gap());
                    const auto& family = order.best_family;
                    if (family && family->makespan < order.makespan) ++worse;
                    const double change =
                        family ? 100 * fractionOf(order.makespan - family->makespan, family->makespan) : 0;
                    fmt::print("| {} | {} | {} | {} % | {:.3f} | {:.3f} | {:.2f} % | {:.1f} % | {} | {} | {:.1f} | "
                               "{:.1f} |\n",
                               pp, m, vpp, percent, static_cast<double>(order.makespan.count()) / 1e6,
                               static_cast<double>(order.bound.count()) / 1e6, 100 * order.gap(), change,
                               family ? orderName(family->name, family->flavor) : "none", order.rounds, took.count(),
                               processorSeconds() - processor);
                    std::fflush(stdout);
                }
            }
        }
    }
    if (gaps.empty()) return 1;
    std::ranges::sort(gaps);
    fmt::print("\n{} instances: gap {:.2f} % at the median, {:.2f} % at most; worse than the best family: {}\n",
               gaps.size(), 100 * gaps[gaps.size() / 2], 100 * gaps.back(), worse);
    return worse == 0 && gaps[gaps.size() / 2] <= 0.03 && gaps.back() <= 0.08 ? 0 : 1;
}

} // namespace bubblescope::search_table
