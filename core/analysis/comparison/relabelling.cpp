#include "core/analysis/comparison/relabelling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>

namespace bubblescope {
namespace {

/// The number of ways to assign a + b steps to runs of a and b, but at most `most` + 1.
std::size_t ways(std::size_t a, std::size_t b, std::size_t most) {
    double count = 1;
    for (std::size_t i = 1; i <= std::min(a, b); ++i) {
        count = count * static_cast<double>(a + b - std::min(a, b) + i) / static_cast<double>(i);
        if (count > static_cast<double>(most)) return most + 1;
    }
    return static_cast<std::size_t>(std::lround(count));
}

/// The columns that belong to the first run.
using Deal = std::vector<std::uint32_t>;

/// The next set of columns in lexical order; false after the last.
bool nextDeal(Deal& deal, std::size_t columns) {
    const std::size_t n = deal.size();
    for (std::size_t i = n; i-- > 0;) {
        if (deal[i] + (n - i) >= columns) continue;
        ++deal[i];
        for (std::size_t j = i + 1; j < n; ++j)
            deal[j] = deal[j - 1] + 1;
        return true;
    }
    return false;
}

/// The table relative to each measure's mean, so that sums of squares lose no digits, and everything that does not
/// depend on the assignment.
class Statistic {
public:
    explicit Statistic(const StepTable& table) : a_(table.a), b_(table.b), centred_(table.values) {
        const std::size_t columns = table.columns();
        constexpr double kShare = 0.0005;
        for (std::size_t i = 0; i < table.rows(); ++i) {
            double* const row = centred_.data() + i * columns;
            const double mean = std::accumulate(row, row + columns, 0.0) / static_cast<double>(columns);
            double sum = 0;
            double squares = 0;
            for (std::size_t c = 0; c < columns; ++c) {
                row[c] -= mean;
                sum += row[c];
                squares += row[c] * row[c];
            }
            totals_.push_back({sum, squares, kShare * std::abs(mean) + 1});
        }
    }

    [[nodiscard]] std::size_t rows() const { return totals_.size(); }

    [[nodiscard]] double of(std::size_t row, const Deal& deal) const {
        const double* const values = centred_.data() + row * (a_ + b_);
        double sum = 0;
        double squares = 0;
        for (const std::uint32_t column : deal) {
            sum += values[column];
            squares += values[column] * values[column];
        }
        const Total& total = totals_[row];
        const auto a = static_cast<double>(a_);
        const auto b = static_cast<double>(b_);
        const double rest = total.sum - sum;
        const double variance_a = std::max(0.0, squares - sum * sum / a) / (a - 1);
        const double variance_b = std::max(0.0, total.squares - squares - rest * rest / b) / (b - 1);
        return std::abs(sum / a - rest / b) / (std::sqrt(variance_a / a + variance_b / b) + total.floor);
    }

private:
    struct Total {
        double sum;
        double squares;
        double floor; ///< ns
    };

    std::size_t a_;
    std::size_t b_;
    std::vector<double> centred_;
    std::vector<Total> totals_;
};

/// Counts, per measure from the strongest down, the assignments whose strongest difference in this measure and the
/// weaker ones is at least as large.
class StepDown {
public:
    explicit StepDown(const Statistic& statistic, const Deal& observed) : statistic_(statistic) {
        for (std::size_t i = 0; i < statistic.rows(); ++i)
            observed_.push_back(statistic.of(i, observed));
        order_.resize(observed_.size());
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::ranges::stable_sort(order_, std::ranges::greater{}, [&](std::size_t i) { return observed_[i]; });
        reached_.assign(order_.size(), 0);
    }

    void count(const Deal& deal) {
        double strongest = 0;
        // Sums are added in a different order each time, so a tiny difference counts as equal.
        constexpr double kSame = 1 - 1e-9;
        for (std::size_t place = order_.size(); place-- > 0;) {
            strongest = std::max(strongest, statistic_.of(order_[place], deal));
            if (strongest >= observed_[order_[place]] * kSame) ++reached_[place];
        }
        ++deals_;
    }

    /// Also counts `beside` further assignments, each as strong as the observed one.
    [[nodiscard]] std::vector<double> chances(std::size_t beside) const {
        std::vector<double> result(order_.size());
        double least = 0;
        for (std::size_t place = 0; place < order_.size(); ++place) {
            least =
                std::max(least, static_cast<double>(reached_[place] + beside) / static_cast<double>(deals_ + beside));
            result[order_[place]] = least;
        }
        return result;
    }

private:
    const Statistic& statistic_;
    std::vector<double> observed_;
    std::vector<std::size_t> order_; ///< measures, strongest difference first
    std::vector<std::size_t> reached_;
    std::size_t deals_ = 0;
};

Deal firstDeal(std::size_t a) {
    Deal deal(a);
    std::iota(deal.begin(), deal.end(), 0U);
    return deal;
}

/// All differences between a value of one list and a value of the other, accessed by rank without storing them, because
/// there may be billions.
class Differences {
public:
    Differences(std::span<const double> a, std::span<const double> b) : a_(a.begin(), a.end()), b_(b.begin(), b.end()) {
        std::ranges::sort(a_);
        std::ranges::sort(b_);
    }

    /// The difference with this rank in ascending order. Exact, because the search bisects the representable numbers.
    [[nodiscard]] double at(std::size_t rank) const {
        std::int64_t low = ordered(b_.front() - a_.back());
        std::int64_t high = ordered(b_.back() - a_.front());
        while (low < high) {
            const std::int64_t middle = std::midpoint(low, high); // towards the first
            if (upTo(number(middle)) > rank)
                high = middle;
            else
                low = middle + 1;
        }
        return number(low);
    }

private:
    /// Maps numbers to integers in the same order, and back.
    static std::int64_t ordered(double value) {
        const auto bits = std::bit_cast<std::int64_t>(value + 0.0); // no negative zero
        return bits >= 0 ? bits : std::numeric_limits<std::int64_t>::min() - bits;
    }
    static double number(std::int64_t place) {
        return std::bit_cast<double>(place >= 0 ? place : std::numeric_limits<std::int64_t>::min() - place);
    }

    [[nodiscard]] std::size_t upTo(double most) const {
        std::size_t count = 0;
        std::size_t fits = 0; // of b, for this value of a
        for (const double x : a_) {
            while (fits < b_.size() && b_[fits] - x <= most)
                ++fits;
            count += fits;
        }
        return count;
    }

    std::vector<double> a_;
    std::vector<double> b_;
};

} // namespace

std::vector<double> relabellingTest(const StepTable& table, const RelabellingLimits& limits) {
    if (table.a < 2 || table.b < 2 || table.rows() == 0) return {};
    const Statistic statistic(table);
    Deal deal = firstDeal(table.a);
    StepDown down(statistic, deal);
    if (ways(table.a, table.b, limits.exhaustive) <= limits.exhaustive) {
        do {
            down.count(deal);
        } while (nextDeal(deal, table.columns()));
        return down.chances(0);
    }
    const double affordable = limits.budget / (static_cast<double>(table.rows()) * static_cast<double>(table.a));
    const std::size_t draws = std::clamp(static_cast<std::size_t>(affordable), limits.at_least, limits.random);
    std::mt19937 random(limits.seed);
    std::vector<std::uint32_t> columns(table.columns());
    std::iota(columns.begin(), columns.end(), 0U);
    for (std::size_t i = 0; i < draws; ++i) {
        for (std::size_t place = 0; place < deal.size(); ++place) {
            const std::size_t left = columns.size() - place;
            std::swap(columns[place], columns[place + random() % left]);
        }
        std::copy_n(columns.begin(), deal.size(), deal.begin());
        down.count(deal);
    }
    return down.chances(1);
}

double leastChance(std::size_t a, std::size_t b, const RelabellingLimits& limits) {
    if (a < 2 || b < 2) return 1;
    const std::size_t all = ways(a, b, limits.exhaustive);
    if (all > limits.exhaustive) return 1.0 / static_cast<double>(limits.random + 1);
    // With equal sizes, swapping the runs gives the same difference.
    return (a == b ? 2.0 : 1.0) / static_cast<double>(all);
}

Shift estimateShift(std::span<const double> a, std::span<const double> b) {
    if (a.empty() || b.empty()) return {};
    const Differences differences(a, b);
    const std::size_t n = a.size() * b.size();
    const auto pairs = static_cast<double>(n);
    const double spread = std::sqrt(pairs * static_cast<double>(a.size() + b.size() + 1) / 12);
    const double cut = std::max(0.0, std::floor(pairs / 2 - 1.96 * spread));
    const auto skipped = std::min(static_cast<std::size_t>(cut), (n - 1) / 2);
    const double upper = differences.at(n / 2);
    const double middle = n % 2 == 1 ? upper : (differences.at(n / 2 - 1) + upper) / 2;
    return {middle, differences.at(skipped), differences.at(n - 1 - skipped)};
}

} // namespace bubblescope
