// Prints how far searched orders are from the bound and from the best family, on stages of uneven times:
//
//     search_table [LARGEST-P] [SECONDS] [SMALLEST-P]
//
// Each instance has seconds in proportion to its size, 10 at p = 16, m = 64, unless SECONDS (other
// than 0) are given.

#include "core/optimize/search/search.h"
#include "tests/unit/optimize/search/drawn_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

using namespace bubblescope;

namespace {

struct Row {
    int pp, m, vpp;
    int limit; ///< in percent of p · v activations
};

double secondsFor(const Row& row) {
    if (row.pp >= 64) return 60;
    return row.pp >= 32 ? 30 : 10;
}

} // namespace

int main(int argc, char** argv) {
    const int largest = argc > 1 ? std::atoi(argv[1]) : 16;
    const double given = argc > 2 ? std::atof(argv[2]) : 0;
    const int smallest = argc > 3 ? std::atoi(argv[3]) : 4;
    std::vector<double> gaps;
    fmt::print("{:>3} {:>4} {:>2} {:>6} {:>10} {:>10} {:>7} {:>8} {:>7} {:>6}  {}\n", "p", "m", "v", "limit",
               "makespan", "bound", "gap", "family", "rounds", "s", "best family; reason of the bound");
    for (const int pp : {4, 8, 16, 32, 64}) {
        if (pp < smallest || pp > largest) continue;
        for (const int m : {2 * pp, 4 * pp}) {
            for (const int vpp : {1, 2, 4}) {
                for (const int limit : {100, 150, 200}) {
                    const Row row{pp, m, vpp, limit};
                    SearchRequest request;
                    request.pp = pp;
                    request.microbatches = m;
                    request.vpp = vpp;
                    request.costs = test::unevenCosts(pp * vpp, static_cast<std::uint64_t>(1000 * pp + 10 * m + vpp));
                    request.activations = {pp * vpp * limit / 100};
                    const double seconds = given > 0 ? given : secondsFor(row);
                    request.time_limit = TimeNs{static_cast<std::int64_t>(seconds * 1e9)};
                    const JobControl control;
                    const auto begin = std::chrono::steady_clock::now();
                    const auto found = searchOrder(request, control);
                    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
                    if (!found.ok()) {
                        fmt::print("{} {} {} {}: {}\n", pp, m, vpp, limit, found.error().text());
                        continue;
                    }
                    const FoundOrder& order = found.value();
                    gaps.push_back(order.gap());
                    const auto family = order.best_family;
                    fmt::print("{:>3} {:>4} {:>2} {:>5}% {:>10} {:>10} {:>6.2f}% {:>7.2f}% {:>7} {:>6.1f}  {}; {}\n",
                               pp, m, vpp, limit, order.makespan.count() / 1000, order.bound.count() / 1000,
                               100 * order.gap(),
                               family ? 100 * fractionOf(order.makespan - family->makespan, family->makespan) : 0,
                               order.rounds, took.count(), family ? family->name + " " + family->flavor : "none",
                               order.reason.text());
                    std::fflush(stdout);
                }
            }
        }
    }
    if (gaps.empty()) return 1;
    std::sort(gaps.begin(), gaps.end());
    fmt::print("{} instances: gap {:.2f} % at the median, {:.2f} % at most\n", gaps.size(), 100 * gaps[gaps.size() / 2],
               100 * gaps.back());
}
