#include "core/analysis/statistics/tests.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace bubblescope::statistics {
namespace {

constexpr std::size_t kExactSmaller = 8;
constexpr std::size_t kExactLarger = 50;

/// Probability of u or more under the null hypothesis, by counting orders: ways(n, m, u) = ways(n-1, m, u-m) + ways(n,
/// m-1, u).
double exactTail(std::size_t n, std::size_t m, double u) {
    const std::size_t most = n * m;
    // ways[j][k] for the current n, where j counts values of the second sample.
    std::vector<std::vector<double>> ways(m + 1, std::vector<double>(most + 1, 0.0));
    for (auto& row : ways)
        row[0] = 1;
    for (std::size_t i = 1; i <= n; ++i) {
        std::vector<std::vector<double>> next(m + 1, std::vector<double>(most + 1, 0.0));
        next[0][0] = 1;
        for (std::size_t j = 1; j <= m; ++j) {
            for (std::size_t k = 0; k <= most; ++k)
                next[j][k] = next[j - 1][k] + (k >= j ? ways[j][k - j] : 0.0);
        }
        ways = std::move(next);
    }
    const std::vector<double>& counts = ways[m];
    const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
    double tail = 0;
    for (std::size_t k = static_cast<std::size_t>(std::ceil(u)); k <= most; ++k)
        tail += counts[k];
    return tail / all;
}

std::vector<std::size_t> ascending(std::span<const double> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
    return order;
}

} // namespace

double normalTail(double z) {
    return 0.5 * std::erfc(z / std::sqrt(2.0));
}

RankTest mannWhitney(std::span<const double> first, std::span<const double> second) {
    RankTest test;
    if (first.empty() || second.empty()) return test;
    std::vector<std::pair<double, bool>> all; // value, and whether it is from the first sample
    for (const double value : first)
        all.emplace_back(value, true);
    for (const double value : second)
        all.emplace_back(value, false);
    std::ranges::sort(all);
    double rank_sum = 0;
    double tie_sum = 0;
    for (std::size_t i = 0; i < all.size();) {
        std::size_t end = i;
        while (end < all.size() && all[end].first == all[i].first)
            ++end;
        const double rank = (static_cast<double>(i + end) + 1) / 2; // the mean of ranks i+1 … end
        for (std::size_t k = i; k < end; ++k)
            rank_sum += all[k].second ? rank : 0;
        const auto ties = static_cast<double>(end - i);
        tie_sum += ties * (ties * ties - 1);
        i = end;
    }
    const auto n = static_cast<double>(first.size());
    const auto m = static_cast<double>(second.size());
    test.u = rank_sum - n * (n + 1) / 2;
    const std::size_t smaller = std::min(first.size(), second.size());
    const std::size_t larger = std::max(first.size(), second.size());
    if (tie_sum == 0 && smaller <= kExactSmaller && larger <= kExactLarger) {
        test.p_greater = exactTail(first.size(), second.size(), test.u);
        test.p_less = exactTail(first.size(), second.size(), n * m - test.u);
    } else {
        const double total = n + m;
        const double sigma = std::sqrt(n * m / 12 * (total + 1 - tie_sum / (total * (total - 1))));
        if (sigma == 0) return test; // all values are equal
        test.p_greater = normalTail((test.u - n * m / 2 - 0.5) / sigma);
        test.p_less = normalTail((n * m / 2 - test.u - 0.5) / sigma);
    }
    return test;
}

std::vector<double> holm(std::span<const double> chances) {
    std::vector<double> corrected(chances.size());
    double largest = 0;
    std::size_t left = chances.size();
    for (const std::size_t i : ascending(chances)) {
        largest = std::max(largest, std::min(1.0, chances[i] * static_cast<double>(left--)));
        corrected[i] = largest;
    }
    return corrected;
}

} // namespace bubblescope::statistics
