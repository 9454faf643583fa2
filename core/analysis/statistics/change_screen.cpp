#include "core/analysis/statistics/change_screen.h"

#include "core/analysis/statistics/change_sides.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

// Compiles a loop for the widest vectors that the processor has, with fused additions. GCC has supported these levels
// since version 12.
#if defined(__x86_64__) && defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define BUBBLESCOPE_WIDEST __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define BUBBLESCOPE_WIDEST
#endif

namespace bubblescope::statistics {
namespace {

/// For values of at least 1. Uses the exponent, and the series of the inverse hyperbolic tangent for the rest, √½ to
/// √2.
inline double logOf(double value) {
    constexpr std::uint64_t kRootOfHalf = 0x3fe6a09e667f3bcd;
    constexpr std::uint64_t kFraction = 0x000fffffffffffff;
    constexpr std::uint64_t kTwoTo52 = 0x4330000000000000;
    const std::uint64_t above = std::bit_cast<std::uint64_t>(value) - kRootOfHalf;
    const double exponent = std::bit_cast<double>((above >> 52U) | kTwoTo52) - 0x1p52;
    const auto rest = std::bit_cast<double>((above & kFraction) + kRootOfHalf);
    const double s = (rest - 1) / (rest + 1);
    const double z = s * s;
    double sum = 2.0 / 19;
    sum = sum * z + 2.0 / 17;
    sum = sum * z + 2.0 / 15;
    sum = sum * z + 2.0 / 13;
    sum = sum * z + 2.0 / 11;
    sum = sum * z + 2.0 / 9;
    sum = sum * z + 2.0 / 7;
    sum = sum * z + 2.0 / 5;
    sum = sum * z + 2.0 / 3;
    sum = sum * z + 2.0;
    return exponent * 0x1.62e42fefa39efp-1 + s * sum;
}

/// For values up to a few hundred; values below -700 count as -700.
inline double expOf(double value) {
    const double least = 0.5 * ((value + 700) + std::abs(value + 700)) - 700; // a comparison would be a branch
    const double shifted = least * 0x1.71547652b82fep+0 + 0x1.8p52;
    const double powers = shifted - 0x1.8p52; // of two
    const double r = (least - powers * 0x1.62e42fefa0000p-1) - powers * 0x1.cf79abc9e3b3ap-40;
    double sum = 1.0 / 39916800;
    sum = sum * r + 1.0 / 3628800;
    sum = sum * r + 1.0 / 362880;
    sum = sum * r + 1.0 / 40320;
    sum = sum * r + 1.0 / 5040;
    sum = sum * r + 1.0 / 720;
    sum = sum * r + 1.0 / 120;
    sum = sum * r + 1.0 / 24;
    sum = sum * r + 1.0 / 6;
    sum = sum * r + 0.5;
    sum = sum * r + 1;
    sum = sum * r + 1;
    constexpr std::uint64_t kOne = 0x3ff0000000000000;
    return sum * std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) << 52U) + kOne);
}

/// NormalGamma::learn() for all stretches; `shares` becomes each one's fraction of exp(`reference`).
BUBBLESCOPE_WIDEST void learnAll(std::size_t count, double value, double reference, const double* const factors,
                                 const double* const base, double* __restrict__ const mean,
                                 double* __restrict__ const rate, double* __restrict__ const shape,
                                 double* __restrict__ const chance, double* __restrict__ const shares) {
    const NormalGamma prior;
    const double least_weight = prior.weight - 2 * prior.shape;
    for (std::size_t i = 0; i < count; ++i) {
        const double weight = 2 * shape[i] + least_weight; // one for each value, as half of the shape
        const double part = 1 / (weight + 1);
        const double off = value - mean[i];
        rate[i] += 0.5 * weight * off * off * part;
        mean[i] += off * part;
        shape[i] += 0.5;
        chance[i] = base[i] + factors[i] - shape[i] * logOf(rate[i]);
        shares[i] = expOf(chance[i] - reference);
    }
}

/// The stretches of findChanges(). Each needs one logarithm: probabilities are not normalised, but relative to the
/// start of the series.
class LooseStretches {
public:
    LooseStretches() {
        for (std::vector<double>* const list : lists())
            list->resize(kMaxStretches + 1);
        begin_.resize(kMaxStretches + 1);
    }

    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] std::size_t begin(std::size_t i) const { return begin_[i]; }
    /// The logarithm of the sum of all probabilities.
    [[nodiscard]] double logTotal() const { return log_total_; }
    [[nodiscard]] double logChance(std::size_t i) const { return chance_[i]; }

    void add(std::size_t begin, double log_chance) {
        const NormalGamma prior;
        begin_[count_] = begin;
        base_[count_] = log_chance;
        chance_[count_] = log_chance;
        mean_[count_] = prior.mean;
        rate_[count_] = prior.rate;
        shape_[count_] = prior.shape;
        ++count_;
    }

    /// `factors` are sums of NormalGamma::logFactor() by the number of values known then.
    void learn(double value, std::size_t at, const std::vector<double>& factors) {
        for (std::size_t i = 0; i < count_; ++i)
            factor_[i] = factors[at + 1 - begin_[i]];
        learnAll(count_, value, log_total_, factor_.data(), base_.data(), mean_.data(), rate_.data(), shape_.data(),
                 chance_.data(), shares_.data());
        double sum = 0;
        for (std::size_t i = 0; i < count_; ++i)
            sum += shares_[i];
        if (constexpr double kTiny = 1e-250; sum < kTiny) { // an outlier
            log_total_ = *std::max_element(chance_.begin(), chance_.begin() + static_cast<std::ptrdiff_t>(count_));
            sum = 0;
            for (std::size_t i = 0; i < count_; ++i)
                sum += std::exp(chance_[i] - log_total_);
        }
        log_total_ += std::log(sum);
    }

    /// As in findChanges().
    void prune() {
        shares_.assign(chance_.begin(), chance_.begin() + static_cast<std::ptrdiff_t>(count_));
        const auto cut = shares_.begin() + static_cast<std::ptrdiff_t>(count_ / 2);
        std::ranges::nth_element(shares_, cut);
        const double least = *cut;
        shares_.resize(kMaxStretches + 1);
        std::size_t kept = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            if (i > 0 && chance_[i] < least) continue;
            begin_[kept] = begin_[i];
            for (std::vector<double>* const list : lists())
                (*list)[kept] = (*list)[i];
            ++kept;
        }
        count_ = kept;
    }

    [[nodiscard]] std::size_t likeliest() const {
        std::size_t best = count_ - 1;
        for (std::size_t i = best; i > 1;) {
            if (chance_[--i] > chance_[best]) best = i;
        }
        return best;
    }

private:
    [[nodiscard]] std::array<std::vector<double>*, 7> lists() {
        return {&base_, &chance_, &mean_, &rate_, &shape_, &factor_, &shares_};
    }

    std::size_t count_ = 0;
    double log_total_ = 0;
    std::vector<std::size_t> begin_; ///< the first value
    std::vector<double> base_;       ///< probability at its start
    std::vector<double> chance_;
    std::vector<double> mean_; ///< these three as in NormalGamma
    std::vector<double> rate_;
    std::vector<double> shape_;
    std::vector<double> factor_; ///< for learn()
    std::vector<double> shares_; ///< for learn() and prune()
};

} // namespace

bool mayChange(std::span<const double> values, std::size_t begin, double centre, double spread,
               const ChangeLimits& limits) {
    constexpr double kMargin = 1e-6;
    const double log_stays = std::log1p(-limits.hazard);
    const double log_ends = std::log(limits.hazard);
    ChangeSides sides(values, begin, limits);
    std::vector<double> factors{0};
    LooseStretches stretches;
    stretches.add(begin, 0);
    for (std::size_t t = begin; t < values.size(); ++t) {
        factors.push_back(factors.back() + NormalGamma::logFactor(t - begin) + log_stays);
        stretches.learn((values[t] - centre) / spread, t, factors);
        const double log_total = stretches.logTotal() - log_stays;
        stretches.add(t + 1, log_total + log_ends);
        if (stretches.size() > kMaxStretches) stretches.prune();
        const double probability = 1 - std::exp(stretches.logChance(0) - log_total);
        if (probability <= limits.probability - kMargin) continue;
        if (sides.at(stretches.begin(stretches.likeliest()), t + 1)) return true;
    }
    return false;
}

} // namespace bubblescope::statistics
