#include "core/analysis/statistics/robust.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

namespace bubblescope::statistics {

double medianInPlace(std::span<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double median(std::vector<double> values) {
    return medianInPlace(values);
}

RunningMedian::RunningMedian(std::span<const double> values) : above_(values.begin(), values.end()) {
    const auto middle = static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(above_, above_.begin() + middle);
    below_.assign(above_.begin(), above_.begin() + middle);
    above_.erase(above_.begin(), above_.begin() + middle);
    std::ranges::make_heap(below_);
    std::ranges::make_heap(above_, std::greater());
}

void RunningMedian::add(double value) {
    const auto move = [](std::vector<double>& from, auto from_order, std::vector<double>& to, auto to_order) {
        std::ranges::pop_heap(from, from_order);
        to.push_back(from.back());
        from.pop_back();
        std::ranges::push_heap(to, to_order);
    };
    const bool low = !above_.empty() && value < above_.front();
    (low ? below_ : above_).push_back(value);
    if (low)
        std::ranges::push_heap(below_);
    else
        std::ranges::push_heap(above_, std::greater());
    if (below_.size() > above_.size()) move(below_, std::less(), above_, std::greater());
    if (above_.size() > below_.size() + 1) move(above_, std::greater(), below_, std::less());
}

double RunningMedian::value() const {
    if (above_.empty()) return 0;
    return size() % 2 == 1 ? above_.front() : (above_.front() + below_.front()) / 2;
}

namespace {

double deviationInPlace(std::span<double> values) {
    const double middle = medianInPlace(values);
    for (double& value : values)
        value = std::abs(value - middle);
    return medianInPlace(values);
}

} // namespace

double medianDeviation(std::span<const double> values) {
    std::vector<double> scratch(values.begin(), values.end());
    return deviationInPlace(scratch);
}

double robustSigma(std::span<const double> values) {
    std::vector<double> scratch(values.begin(), values.end());
    return robustSigmaInPlace(scratch);
}

double robustSigmaInPlace(std::span<double> values) {
    constexpr double kSigmaOfDeviation = 1.482602218505602; // 1 / the normal distribution's quantile at 3/4
    return kSigmaOfDeviation * deviationInPlace(values);
}

double quantile(std::vector<double> values, double share) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

} // namespace bubblescope::statistics
