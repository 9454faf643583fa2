#pragma once

#include "core/analysis/statistics/change_point.h"
#include "core/analysis/statistics/robust.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope::statistics {

/// Maximum number of stretches followed at a time. With one stretch per earlier value, time would grow with the square
/// of the number of values.
inline constexpr std::size_t kMaxStretches = 512;

/// The medians on both sides of possible changes in a series. Each is computed once. The median after a change is
/// updated with each new value.
class ChangeSides {
public:
    /// Uses the values from `begin` on.
    ChangeSides(std::span<const double> values, std::size_t begin, const ChangeLimits& limits)
        : values_(values), begin_(begin), limits_(limits) {}

    struct Medians {
        double before = 0;
        double after = 0;
    };
    /// The medians before and after `at`, from the values before `end`. Empty if a side is too short or the medians are
    /// too similar.
    [[nodiscard]] std::optional<Medians> at(std::size_t at, std::size_t end) {
        if (end - at < limits_.least_values || at - begin_ < limits_.least_values) return std::nullopt;
        const Medians medians{before(at), after(at, end)};
        if (std::abs(medians.after - medians.before) < limits_.least_share * std::abs(medians.before))
            return std::nullopt;
        return medians;
    }

private:
    [[nodiscard]] double before(std::size_t at) {
        before_.resize(values_.size(), std::numeric_limits<double>::quiet_NaN());
        double& known = before_[at];
        if (std::isnan(known)) known = RunningMedian(values_.subspan(begin_, at - begin_)).value();
        return known;
    }
    [[nodiscard]] double after(std::size_t at, std::size_t end) {
        if (at != after_from_ || after_.size() > end - at) {
            after_ = RunningMedian(values_.subspan(at, end - at));
            after_from_ = at;
        }
        while (after_.size() < end - at)
            after_.add(values_[at + after_.size()]);
        return after_.value();
    }

    std::span<const double> values_;
    std::size_t begin_ = 0;
    const ChangeLimits& limits_;
    std::vector<double> before_; ///< median of the values before each position; NaN if not computed yet
    std::size_t after_from_ = 0;
    RunningMedian after_; ///< median of the values from `after_from_` on
};

} // namespace bubblescope::statistics
