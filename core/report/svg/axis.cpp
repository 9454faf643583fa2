#include "core/report/svg/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace bubblescope::svg {
namespace {

struct Unit {
    std::int64_t ns;
    const char* name;
};
constexpr std::array kUnits{Unit{1'000'000'000, "s"}, Unit{1'000'000, "ms"}, Unit{1'000, "µs"}, Unit{1, "ns"}};

/// The unit of the largest value shown, so that no label has many leading zeros or digits.
Unit unitFor(std::int64_t largest) {
    for (const Unit& unit : kUnits) {
        if (largest >= unit.ns) return unit;
    }
    return kUnits.back();
}

struct Spacing {
    std::int64_t major;
    std::int64_t minor;
};

Spacing spacingFor(std::int64_t least) {
    for (std::int64_t power = 1;; power *= 10) {
        if (power >= least) return {power, std::max<std::int64_t>(1, power / 5)};
        if (power * 2 >= least) return {power * 2, std::max<std::int64_t>(1, power / 2)};
        if (power * 5 >= least) return {power * 5, power};
    }
}

std::string inUnit(std::int64_t ns, const Unit& unit) {
    std::string digits = fmt::format("{:.9f}", static_cast<double>(ns) / static_cast<double>(unit.ns));
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
    return fmt::format("{} {}", digits, unit.name);
}

} // namespace

std::vector<Tick> makeTicks(TimeNs from, TimeNs to, TimeNs least) {
    const Spacing spacing = spacingFor(std::max<std::int64_t>(1, least.count()));
    const Unit unit = unitFor(std::max(std::abs(from.count()), std::abs(to.count())));
    std::vector<Tick> ticks;
    // Division rounds towards zero, so start one early and skip what lies before the range.
    for (std::int64_t at = (from.count() / spacing.minor - 1) * spacing.minor; at <= to.count(); at += spacing.minor) {
        if (at < from.count()) continue;
        ticks.push_back({TimeNs{at}, at % spacing.major == 0 ? inUnit(at, unit) : std::string{}});
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
    return inUnit(rounded, unitFor(std::abs(rounded)));
}

} // namespace bubblescope::svg
