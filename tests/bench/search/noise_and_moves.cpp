#include "core/optimize/search/improve.h"
#include "core/optimize/search/justify.h"
#include "core/optimize/search/list_order.h"
#include "tests/bench/search/table.h"
#include "tests/unit/optimize/search/drawn_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace bubblescope::search_table {
namespace {

double inMs(std::int64_t time) {
    return static_cast<double>(time) / 1e6;
}

/// Moves of up to six places that memory allows.
std::vector<OrderMove> drawnMoves(const OrderEvaluator& order, std::size_t count) {
    std::mt19937_64 random(1);
    std::vector<OrderMove> drawn;
    while (drawn.size() < count) {
        const auto rank = random() % order.orders().size();
        const auto length = static_cast<std::int32_t>(order.orders()[rank].size());
        const auto from = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(length));
        const auto by = static_cast<std::int32_t>(random() % 13) - 6;
        const OrderMove move{static_cast<std::int32_t>(rank), from, std::clamp(from + by, 0, length - 1)};
        if (move.from != move.to && order.allowed(move)) drawn.push_back(move);
    }
    return drawn;
}

} // namespace

int noise(const Options& options) {
    fmt::print("| p | m | v | memory | mean, ms | 95 of 100, ms | best family | its mean | its 95 of 100 | mean | 95 | "
               "mean of "
               "any order, at least | processor, s |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    int missed = 0;
    int worse = 0;
    int count = 0;
    for (const int pp : {4, 8, 16}) {
        if (pp < options.smallest || pp > options.largest) continue;
        for (const int m : {2 * pp, 4 * pp}) {
            for (const int vpp : {1, 2}) {
                for (const int percent : {100, 150, 200}) {
                    SearchRequest request;
                    request.pp = pp;
                    request.microbatches = m;
                    request.vpp = vpp;
                    request.costs = test::unevenCosts(pp * vpp, static_cast<std::uint64_t>(1000 * pp + 10 * m + vpp));
                    request.activations = {pp * vpp * percent / 100};
                    request.noise = NoiseModel{.share = 0.05, .draws = 200, .seed = 48};
                    limit(request, options, 10);
                    const double processor = processorSeconds();
                    const auto found = searchOrder(request, JobControl{});
                    if (!found.ok() || !found.value().best_family) return 1;
                    const NoisySteps ours = *found.value().noisy;
                    const FamilyStep& family = *found.value().best_family;
                    const NoisySteps theirs = *family.noisy;
                    ++count;
                    if (ours.mean >= theirs.mean || ours.late >= theirs.late) ++missed;
                    if (ours.mean > theirs.mean || ours.late > theirs.late) ++worse;
                    const std::int64_t bound = found.value().noisy_bound.value_or(0);
                    fmt::print("| {} | {} | {} | {} % | {:.3f} | {:.3f} | {} | {:.3f} | {:.3f} | {:+.3f} % | {:+.3f} % "
                               "| {:+.3f} % "
                               "| {:.1f} |\n",
                               pp, m, vpp, percent, inMs(ours.mean), inMs(ours.late),
                               orderName(family.name, family.flavor), inMs(theirs.mean), inMs(theirs.late),
                               100 * fractionOf(TimeNs{ours.mean - theirs.mean}, TimeNs{theirs.mean}),
                               100 * fractionOf(TimeNs{ours.late - theirs.late}, TimeNs{theirs.late}),
                               100 * fractionOf(TimeNs{bound - theirs.mean}, TimeNs{theirs.mean}),
                               processorSeconds() - processor);
                    std::fflush(stdout);
                }
            }
        }
    }
    fmt::print("\n{} of {} better in the mean and in 95 of 100, {} worse in either\n", count - missed, count, worse);
    return missed == 0 ? 0 : 1;
}

int moves(const Options&) {
    fmt::print("| v | ops | from scratch, us | judged, us | times | carried out, us | times | looks at | search, us a "
               "move | times |\n"
               "|---|---|---|---|---|---|---|---|---|---|\n");
    bool met = true;
    for (const int vpp : {1, 2, 4}) {
        constexpr int kRanks = 16;
        const CostModel costs = test::unevenCosts(kRanks * vpp, 7);
        const auto made = OrderProblem::make({{.pp = kRanks, .microbatches = 64, .vpp = vpp}}, costs,
                                             {.activations = {kRanks * vpp * 3 / 2}});
        if (!made.ok()) return 1;
        OrderEvaluator order(made.value());
        if (!order.assign(listOrder(made.value(), {}))) return 1;
        justify(order, 20, JobControl{});
        const RankOrders start = order.orders();
        const std::vector<OrderMove> drawn = drawnMoves(order, 4096);
        const auto timed = [](int times, const auto& work) {
            const double begin = processorSeconds();
            for (int i = 0; i < times; ++i)
                work();
            return 1e6 * (processorSeconds() - begin) / times;
        };
        const double scratch = timed(1000, [&] { (void)order.assign(start); });
        const double judged = timed(200,
                                    [&] {
                                        for (const OrderMove& move : drawn)
                                            (void)order.estimate(move);
                                    }) /
                              static_cast<double>(drawn.size());
        std::size_t carried_out = 0;
        const std::int64_t touched = order.touched();
        const double applied = timed(1, [&] {
            for (const OrderMove& move : drawn) {
                if (order.allowed(move)) carried_out += order.apply(move) ? 1 : 0;
            }
        });
        const double each = applied / static_cast<double>(std::max<std::size_t>(carried_out, 1));
        const double looks_at = static_cast<double>(order.touched() - touched) /
                                static_cast<double>(2 * std::int64_t{made.value().size()} *
                                                    static_cast<std::int64_t>(std::max<std::size_t>(carried_out, 1)));
        Improved improved;
        const double whole = timed(1, [&] {
            improved = improveOrder(made.value(), start, {.seed = 3, .effort = 20'000'000, .goal = 0}, JobControl{});
        });
        const double in_search = whole / static_cast<double>(std::max<std::int64_t>(improved.judged, 1));
        fmt::print("| {} | {} | {:.0f} | {:.3f} | {:.0f} | {:.1f} | {:.1f} | {:.0f} % | {:.2f} | {:.0f} |\n", vpp,
                   made.value().size(), scratch, judged, scratch / judged, each, scratch / each, 100 * looks_at,
                   in_search, scratch / in_search);
        met = met && scratch >= 20 * in_search;
    }
    return met ? 0 : 1;
}

} // namespace bubblescope::search_table
