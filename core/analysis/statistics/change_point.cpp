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

/// The part of logStudent() that depends on the degrees alone.
double logStudentFactor(double freedom) {
    return logGamma((freedom + 1) / 2) - logGamma(freedom / 2) - 0.5 * std::log(freedom * std::numbers::pi);
}

double logStudent(double factor, double value, double freedom, double centre, double scale) {
    const double z = (value - centre) / scale;
    return factor - std::log(scale) - (freedom + 1) / 2 * std::log1p(z * z / freedom);
}

} // namespace

double logStudent(double value, double freedom, double centre, double scale) {
    return logStudent(logStudentFactor(freedom), value, freedom, centre, scale);
}

namespace {

/// More stretches than this are never followed at once: with one for each value before, the time would grow with their
/// number squared.
constexpr std::size_t kMaxStretches = 512;

/// Normal-inverse-gamma: what is known of a stretch's mean and variance.
struct Stretch {
    std::size_t begin = 0; // its first value
    double mean = 0;
    double weight = 0.01; // the prior's: a mean within about ten spreads
    double shape = 1;
    double rate = 1;
    double log_chance = 0; // of this run length

    /// `factors` are logStudentFactor(2 · shape) by the number of values seen.
    [[nodiscard]] double logPredict(double value, std::size_t seen, std::span<const double> factors) const {
        return logStudent(factors[seen], value, 2 * shape, mean, std::sqrt(rate * (weight + 1) / (shape * weight)));
    }
    void learn(double value) {
        rate += weight * (value - mean) * (value - mean) / (2 * (weight + 1));
        mean = (weight * mean + value) / (weight + 1);
        weight += 1;
        shape += 0.5;
    }
};

/// Keeps the one as old as the series, which comes last, and half of the others, the likeliest.
void prune(std::vector<Stretch>& stretches) {
    std::vector<double> chances;
    for (const Stretch& stretch : stretches)
        chances.push_back(stretch.log_chance);
    const auto cut = chances.begin() + static_cast<std::ptrdiff_t>(chances.size() / 2);
    std::ranges::nth_element(chances, cut);
    const std::size_t oldest = stretches.back().begin;
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
    std::vector<double> factors;               // as Stretch::logPredict() takes them
    std::vector<Stretch> stretches{Stretch{}}; // by run length; the last is as old as the series
    stretches.front().begin = begin;
    const double log_stays = std::log1p(-limits.hazard);
    for (std::size_t t = begin; t < values.size(); ++t) {
        const double value = (values[t] - centre) / spread;
        double changed = 0; // sum of all lengths' chances to end here
        double largest = -1e300;
        factors.push_back(logStudentFactor(2 + static_cast<double>(t - begin)));
        for (Stretch& stretch : stretches) {
            stretch.log_chance += stretch.logPredict(value, t - stretch.begin, factors);
            largest = std::max(largest, stretch.log_chance);
        }
        for (Stretch& stretch : stretches) {
            changed += std::exp(stretch.log_chance - largest) * limits.hazard;
            stretch.log_chance += log_stays - largest;
            stretch.learn(value);
        }
        Stretch fresh;
        fresh.begin = t + 1;
        fresh.log_chance = std::log(changed);
        stretches.insert(stretches.begin(), fresh);
        double total = 0;
        for (const Stretch& stretch : stretches)
            total += std::exp(stretch.log_chance);
        const double log_total = std::log(total);
        for (Stretch& stretch : stretches)
            stretch.log_chance -= log_total;

        if (stretches.size() > kMaxStretches) prune(stretches);

        const double probability = 1 - std::exp(stretches.back().log_chance);
        if (probability <= limits.probability) continue;
        const auto likeliest =
            std::max_element(stretches.begin(), stretches.end() - 1,
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
