#include "core/analysis/statistics/change_point.h"

#include "core/analysis/statistics/change_screen.h"
#include "core/analysis/statistics/change_sides.h"
#include "core/analysis/statistics/robust.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>

namespace bubblescope::statistics {

namespace {

/// std::lgamma() stores the sign in a variable that all threads share.
double logGamma(double value) {
    int sign = 0;
    return ::lgamma_r(value, &sign);
}

/// The part of the logarithm of Student's density that only depends on the degrees of freedom.
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

/// Stretches of values without a known change between them, by their start. One list per quantity of NormalGamma,
/// because all stretches learn the same value, several of them at once.
class Stretches {
public:
    [[nodiscard]] std::size_t size() const { return begin_.size(); }
    [[nodiscard]] std::size_t begin(std::size_t i) const { return begin_[i]; }
    [[nodiscard]] double logChance(std::size_t i) const { return log_chance_[i]; } ///< for this run length

    void add(std::size_t begin, double log_chance) {
        const NormalGamma prior;
        begin_.push_back(begin);
        log_chance_.push_back(log_chance);
        mean_.push_back(prior.mean);
        weight_.push_back(prior.weight);
        shape_.push_back(prior.shape);
        rate_.push_back(prior.rate);
        log_rate_.push_back(prior.log_rate);
    }

    /// Like NormalGamma::learn(). `factors` are NormalGamma::logFactor() by the number of values seen.
    void learn(double value, std::size_t at, const std::vector<double>& factors) {
        const std::size_t count = size();
        before_.resize(count);
        double* const before = before_.data();
        double* const mean = mean_.data();
        double* const weight = weight_.data();
        double* const shape = shape_.data();
        double* const rate = rate_.data();
        double* const log_rate = log_rate_.data();
        for (std::size_t i = 0; i < count; ++i) {
            before[i] = shape[i] * log_rate[i];
            rate[i] += weight[i] * (value - mean[i]) * (value - mean[i]) / (2 * (weight[i] + 1));
            mean[i] = (weight[i] * mean[i] + value) / (weight[i] + 1);
            weight[i] += 1;
            shape[i] += 0.5;
        }
        for (std::size_t i = 0; i < count; ++i)
            log_rate[i] = std::log(rate[i]);
        for (std::size_t i = 0; i < count; ++i)
            log_chance_[i] += factors[at - begin_[i]] + (before[i] - shape[i] * log_rate[i]);
    }

    /// Each stretch may end here or continue, so that all of them together stay as likely as before.
    void shareOut(double log_stays) {
        const double largest = *std::ranges::max_element(log_chance_);
        double sum = 0;
        for (const double log_chance : log_chance_)
            sum += std::exp(log_chance - largest);
        const double log_total = largest + std::log(sum);
        const double change = log_stays - log_total;
        for (double& log_chance : log_chance_)
            log_chance += change;
    }

    /// Keeps the first stretch, which is as old as the series, and the likelier half of the others.
    void prune() {
        std::vector<double> chances = log_chance_;
        const auto cut = chances.begin() + static_cast<std::ptrdiff_t>(chances.size() / 2);
        std::ranges::nth_element(chances, cut);
        std::size_t kept = 0;
        for (std::size_t i = 0; i < size(); ++i) {
            if (i > 0 && log_chance_[i] < *cut) continue;
            begin_[kept] = begin_[i];
            for (std::vector<double>* const list : lists())
                (*list)[kept] = (*list)[i];
            ++kept;
        }
        begin_.resize(kept);
        for (std::vector<double>* const list : lists())
            list->resize(kept);
    }

    /// The likeliest stretch; if several are, the latest, but never the first.
    [[nodiscard]] std::size_t likeliest() const {
        std::size_t best = size() - 1;
        for (std::size_t i = best; i > 1;) {
            if (log_chance_[--i] > log_chance_[best]) best = i;
        }
        return best;
    }

private:
    [[nodiscard]] std::array<std::vector<double>*, 6> lists() {
        return {&log_chance_, &mean_, &weight_, &shape_, &rate_, &log_rate_};
    }

    std::vector<std::size_t> begin_; ///< the first value
    std::vector<double> log_chance_;
    std::vector<double> mean_;
    std::vector<double> weight_;
    std::vector<double> shape_;
    std::vector<double> rate_;
    std::vector<double> log_rate_;
    std::vector<double> before_; ///< for learn()
};

double spreadOf(std::span<const double> values) {
    std::vector<double> steps;
    for (std::size_t i = 1; i < values.size(); ++i)
        steps.push_back((values[i] - values[i - 1]) / std::numbers::sqrt2);
    const double spread = robustSigma(steps);
    // A series without noise still has a resolution; without this, no deviation would have a finite size.
    return std::max(spread, 1e-3 * std::abs(median({values.begin(), values.end()})));
}

double medianOf(std::span<const double> values) {
    return median({values.begin(), values.end()});
}

/// The first change after `begin`, with its probability.
std::optional<Change> nextChange(std::span<const double> values, std::size_t begin, double centre, double spread,
                                 const ChangeLimits& limits) {
    if (!mayChange(values, begin, centre, spread, limits)) return std::nullopt;
    ChangeSides sides(values, begin, limits);
    std::vector<double> factors; // NormalGamma::logFactor() by the number of values seen
    Stretches stretches;         // the first is as old as the series
    stretches.add(begin, 0);
    const double log_stays = std::log1p(-limits.hazard);
    const double log_ends = std::log(limits.hazard);
    for (std::size_t t = begin; t < values.size(); ++t) {
        factors.push_back(NormalGamma::logFactor(t - begin));
        stretches.learn((values[t] - centre) / spread, t, factors);
        stretches.shareOut(log_stays);
        stretches.add(t + 1, log_ends);
        if (stretches.size() > kMaxStretches) stretches.prune();

        const double probability = 1 - std::exp(stretches.logChance(0));
        if (probability <= limits.probability) continue;
        const std::size_t at = stretches.begin(stretches.likeliest());
        if (const auto medians = sides.at(at, t + 1)) return Change{at, probability, medians->before, medians->after};
    }
    return std::nullopt;
}

} // namespace

namespace {

/// A stretch between two changes.
struct Level {
    std::size_t begin = 0;
    std::size_t end = 0;
    double probability = 1; ///< that its level differs from the previous one
    double median = 0;
};

/// Joins the stretch at `at` with the previous one; medians are not affected by the few values of an episode.
void joinWithPrevious(std::vector<Level>& levels, std::size_t at, std::span<const double> values) {
    Level& kept = levels[at - 1];
    kept.end = levels[at].end;
    kept.median = medianOf(values.subspan(kept.begin, kept.end - kept.begin));
    levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(at));
}

/// Joins neighbours that do not differ, the most similar first, so that a slow slope is not lost in small parts.
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

/// Keeps only stretches that last and differ: episodes are merged into the previous stretch, the shortest first.
void dropEpisodes(std::vector<Level>& levels, std::span<const double> values, const ChangeLimits& limits) {
    const double least = limits.least_part * static_cast<double>(values.size());
    joinAlike(levels, values, limits.least_share);
    while (levels.size() > 1) {
        const auto shortest = std::min_element(levels.begin(), levels.end() - 1, [](const Level& a, const Level& b) {
            return a.end - a.begin < b.end - b.begin;
        });
        if (static_cast<double>(shortest->end - shortest->begin) >= least) return;
        if (shortest == levels.begin()) {
            levels.erase(shortest); // the start of the series
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
    const double centre = medianOf(values);
    std::vector<Level> levels{{0, values.size(), 1, 0}};
    while (const auto change = nextChange(values, levels.back().begin, centre, spread, limits)) {
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
