#include "app/gui/charts/axis.h"

#include "core/analysis/statistics/robust.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace bubblescope::gui {

namespace {

constexpr double kFence = 4;         ///< multiple of the interquartile range
constexpr double kMinRoom = 1.5;     ///< values within this factor are always shown
constexpr double kAxisMargin = 0.06; ///< fraction of the length, at both ends

} // namespace

Axis robustAxis(std::span<const double> values, bool from_zero) {
    std::vector<double> sorted;
    sorted.reserve(values.size());
    std::ranges::copy_if(values, std::back_inserter(sorted), [](double value) { return !std::isnan(value); });
    if (sorted.empty()) return {};
    std::ranges::sort(sorted);
    const double lower = statistics::quantile(sorted, 0.25);
    const double upper = statistics::quantile(sorted, 0.75);
    const double reach = kFence * (upper - lower);
    const double top = std::max(upper + reach, upper * (upper > 0 ? kMinRoom : 1 / kMinRoom));
    const double bottom = std::min(lower - reach, lower * (lower > 0 ? 1 / kMinRoom : kMinRoom));
    Axis axis;
    axis.low = *std::ranges::lower_bound(sorted, bottom);
    axis.high = *(std::ranges::upper_bound(sorted, top) - 1);
    axis.clipped = sorted.front() < axis.low || sorted.back() > axis.high;
    if (from_zero) {
        axis.low = std::min(0.0, axis.low);
        axis.high = std::max(0.0, axis.high);
    }
    double length = axis.high - axis.low;
    if (length <= 0) length = std::max(1e-9, std::abs(axis.high));
    if (!from_zero || axis.low < 0) axis.low -= kAxisMargin * length;
    if (!from_zero || axis.high > 0) axis.high += kAxisMargin * length;
    if (axis.high <= axis.low) axis.high = axis.low + length;
    return axis;
}

std::vector<double> niceTicks(const Axis& axis, int max_count) {
    const double raw = (axis.high - axis.low) / std::max(1, max_count);
    const double decade = std::pow(10, std::floor(std::log10(raw)));
    double step = 10 * decade;
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * decade >= raw) {
            step = factor * decade;
            break;
        }
    }
    std::vector<double> ticks;
    for (double at = std::ceil(axis.low / step) * step; at <= axis.high; at += step)
        ticks.push_back(std::abs(at) < step / 1000 ? 0 : at);
    return ticks;
}

} // namespace bubblescope::gui
