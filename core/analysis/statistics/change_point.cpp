#include "core/analysis/statistics/change_point.h"

#include "core/analysis/statistics/robust.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

namespace bubblescope::statistics {

namespace {

/// std::lgamma() stores the sign in a variable that all threads share.
double logGamma(double value) {
    int sign = 0;
    return ::lgamma_r(value, &sign);
}

/// The part of the logarithm of Student's density that depends on the degrees alone.
double logStudentFactor(double freedom) {
    return logGamma((freedom + 1) / 2) - logGamma(freedom / 2) - 0.5 * std::log(freedom * std::numbers::pi);
}

} // namespace

double NormalGamma::logFactor(std::size_t seen) {
    const NormalGamma prior;
    const double known = prior.weight + static_cast<double>(seen);
    const double freedom = 2 * prior.shape + static_cast<double>(seen);
    return logStudentFactor(freedom) + 0.5 * std::log(freedom * known / (2 * (known + 1)));
}

double NormalGamma::learn(double value) {
    const double before = shape * log_rate;
    rate += weight * (value - mean) * (value - mean) / (2 * (weight + 1));
    log_rate = std::log(rate);
    mean = (weight * mean + value) / (weight + 1);
    weight += 1;
    shape += 0.5;
    return before - shape * log_rate;
}

namespace {

/// More stretches than this are never followed at once: with one for each value before, the time would grow with their
/// number squared.
constexpr std::size_t kMaxStretches = 512;

/// Values between which nothing changed, as far as is known.
struct Stretch {
    std::size_t begin = 0; // its first value
    NormalGamma level;
    double log_chance = 0; // of this run length
};

/// Keeps the one as old as the series, which comes first, and half of the others, the likeliest.
void prune(std::vector<Stretch>& stretches) {
    std::vector<double> chances;
    for (const Stretch& stretch : stretches)
        chances.push_back(stretch.log_chance);
    const auto cut = chances.begin() + static_cast<std::ptrdiff_t>(chances.size() / 2);
    std::ranges::nth_element(chances, cut);
    const std::size_t oldest = stretches.front().begin;
    std::erase_if(stretches,
                  [&](const Stretch& stretch) { return stretch.begin != oldest && stretch.log_chance < *cut; });
}

double spreadOf(std::span<const double> values) {
    std::vector<double> steps;
    for (std::size_t i = 1; i < values.size(); ++i)
        steps.push_back((values[i] - values[i - 1]) / std::numbers::sqrt2);
    const double spread = robustSigma(steps);
    // A series without noise still has a resolution; without it nothing would be a deviation of finite size.
    return std::max(spread, 1e-3 * std::abs(median({values.begin(), values.end()})));
}

double medianOf(std::span<const double> values) {
    return median({values.begin(), values.end()});
}

/// The first change behind `begin`: where, and how sure.
std::optional<Change> nextChange(std::span<const double> values, std::size_t begin, double centre, double spread,
                                 const ChangeLimits& limits) {
    std::vector<double> factors;               // NormalGamma::logFactor() by the number of values seen
    std::vector<Stretch> stretches{Stretch{}}; // by run length; the first is as old as the series
    stretches.front().begin = begin;
    const double log_stays = std::log1p(-limits.hazard);
    for (std::size_t t = begin; t < values.size(); ++t) {
        const double value = (values[t] - centre) / spread;
        double largest = -1e300;
        factors.push_back(NormalGamma::logFactor(t - begin));
        for (Stretch& stretch : stretches) {
            stretch.log_chance += factors[t - stretch.begin] + stretch.level.learn(value);
            largest = std::max(largest, stretch.log_chance);
        }
        double sum = 0;
        for (const Stretch& stretch : stretches)
            sum += std::exp(stretch.log_chance - largest);
        // Each may end here, or stay: together they are as likely as before.
        const double log_total = largest + std::log(sum);
        for (Stretch& stretch : stretches)
            stretch.log_chance += log_stays - log_total;
        Stretch& fresh = stretches.emplace_back();
        fresh.begin = t + 1;
        fresh.log_chance = std::log(limits.hazard);

        if (stretches.size() > kMaxStretches) prune(stretches);

        const double probability = 1 - std::exp(stretches.front().log_chance);
        if (probability <= limits.probability) continue;
        // Of several the latest.
        const auto likeliest =
            std::max_element(stretches.rbegin(), stretches.rend() - 1,
                             [](const Stretch& a, const Stretch& b) { return a.log_chance < b.log_chance; });
        const std::size_t at = likeliest->begin;
        if (t + 1 - at < limits.least_values || at - begin < limits.least_values) continue; // not yet, or too near
        const double before = medianOf(values.subspan(begin, at - begin));
        const double after = medianOf(values.subspan(at, t + 1 - at));
        if (std::abs(after - before) < limits.least_share * std::abs(before)) continue;
        return Change{at, probability, before, after};
    }
    return std::nullopt;
}

} // namespace

namespace {

/// A stretch between two changes.
struct Level {
    std::size_t begin = 0;
    std::size_t end = 0;
    double probability = 1; ///< that it differs from the one before
    double median = 0;
};

/// Joins the stretch at `at` with the one before it; medians do not heed the few values of an episode.
void joinWithPrevious(std::vector<Level>& levels, std::size_t at, std::span<const double> values) {
    Level& kept = levels[at - 1];
    kept.end = levels[at].end;
    kept.median = medianOf(values.subspan(kept.begin, kept.end - kept.begin));
    levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(at));
}

/// Joins neighbours without a difference, the most similar first, so that a slow slope does not vanish in small parts.
void joinAlike(std::vector<Level>& levels, std::span<const double> values, double least_share) {
    for (;;) {
        std::size_t likest = 0;
        double smallest = least_share;
        for (std::size_t i = 1; i < levels.size(); ++i) {
            const double before = std::abs(levels[i - 1].median);
            const double share = before > 0 ? std::abs(levels[i].median - levels[i - 1].median) / before : 1;
            if (share >= smallest) continue;
            smallest = share;
            likest = i;
        }
        if (likest == 0) return;
        joinWithPrevious(levels, likest, values);
    }
}

/// Leaves the stretches that last and differ: episodes become part of what was before them, the shortest first.
void dropEpisodes(std::vector<Level>& levels, std::span<const double> values, const ChangeLimits& limits) {
    const double least = limits.least_part * static_cast<double>(values.size());
    joinAlike(levels, values, limits.least_share);
    while (levels.size() > 1) {
        const auto shortest = std::min_element(levels.begin(), levels.end() - 1, [](const Level& a, const Level& b) {
            return a.end - a.begin < b.end - b.begin;
        });
        if (static_cast<double>(shortest->end - shortest->begin) >= least) return;
        if (shortest == levels.begin()) {
            levels.erase(shortest); // what the series begins with
        } else {
            joinWithPrevious(levels, static_cast<std::size_t>(shortest - levels.begin()), values);
        }
        joinAlike(levels, values, limits.least_share);
    }
}

} // namespace

std::vector<Change> findChanges(std::span<const double> values, const ChangeLimits& limits) {
    if (values.size() < 2 * limits.least_values) return {};
    const double spread = spreadOf(values);
    if (spread <= 0) return {};
    std::vector<Level> levels{{0, values.size(), 1, 0}};
    while (const auto change = nextChange(values, levels.back().begin, medianOf(values), spread, limits)) {
        levels.back().end = change->at;
        levels.push_back({change->at, values.size(), change->probability, 0});
    }
    for (Level& level : levels)
        level.median = medianOf(values.subspan(level.begin, level.end - level.begin));
    dropEpisodes(levels, values, limits);
    std::vector<Change> changes;
    for (std::size_t i = 1; i < levels.size(); ++i)
        changes.push_back({levels[i].begin, levels[i].probability, levels[i - 1].median, levels[i].median});
    return changes;
}

} // namespace bubblescope::statistics
