#include "core/report/svg/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>

namespace bubblescope::svg {
namespace {

std::string inUnit(std::int64_t ns, const TimeUnit& unit) {
    std::string digits = fmt::format("{:.9f}", static_cast<double>(ns) / static_cast<double>(unit.size.count()));
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
    return fmt::format("{} {}", digits, unit.name);
}

} // namespace

TickSpacing TickSpacing::atLeast(TimeNs least) {
    for (TimeNs power{1};; power *= 10) {
        if (power >= least) return {power, std::max(TimeNs{1}, power / 5)};
        if (power * 2 >= least) return {power * 2, std::max(TimeNs{1}, power / 2)};
        if (power * 5 >= least) return {power * 5, power};
    }
}

TimeUnit TimeUnit::of(TimeNs largest) {
    static constexpr std::array kUnits{TimeUnit{TimeNs{1'000'000'000}, "s"}, TimeUnit{TimeNs{1'000'000}, "ms"},
                                       TimeUnit{TimeNs{1'000}, "µs"}};
    for (const TimeUnit& unit : kUnits) {
        if (largest >= unit.size) return unit;
    }
    return {};
}

std::vector<Tick> makeTicks(TimeNs from, TimeNs to, TimeNs least) {
    const auto [major, minor] = TickSpacing::atLeast(least);
    const TimeUnit unit = TimeUnit::of(std::max(std::chrono::abs(from), std::chrono::abs(to)));
    std::vector<Tick> ticks;
    // Division rounds towards zero, so start one earlier and skip marks before the range.
    for (TimeNs at = (from / minor - 1) * minor; at <= to; at += minor) {
        if (at >= from) ticks.push_back({at, at % major == TimeNs{0} ? inUnit(at.count(), unit) : std::string{}});
    }
    return ticks;
}

std::string shortTime(TimeNs time) {
    const std::int64_t ns = time.count();
    // Four digits: rounded to a power of ten below the leading one, before the unit is chosen.
    std::int64_t step = 1;
    while (std::abs(ns) / step >= 10'000)
        step *= 10;
    const std::int64_t rounded = (ns + (ns < 0 ? -step : step) / 2) / step * step;
    return inUnit(rounded, TimeUnit::of(TimeNs{std::abs(rounded)}));
}

} // namespace bubblescope::svg
