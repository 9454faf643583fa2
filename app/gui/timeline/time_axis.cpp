#include "app/gui/timeline/time_axis.h"

#include <QLocale>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace bubblescope::gui {

namespace {

struct TickUnit {
    std::int64_t ns;
    const char* name;
};
constexpr std::array kTickUnits{TickUnit{1'000'000'000, "s"}, TickUnit{1'000'000, "ms"}, TickUnit{1'000, "µs"},
                                TickUnit{1, "ns"}};

struct Spacing {
    std::int64_t major;
    std::int64_t minor;
};

Spacing spacingFor(std::int64_t at_least) {
    std::int64_t power = 1;
    while (power < at_least / 10)
        power *= 10;
    for (;; power *= 10) {
        if (power >= at_least) return {power, std::max<std::int64_t>(1, power / 5)};
        if (power * 2 >= at_least) return {power * 2, std::max<std::int64_t>(1, power / 2)};
        if (power * 5 >= at_least) return {power * 5, power};
    }
}

/// The unit for the largest value shown, so that labels have few leading zeros or digits.
TickUnit unitFor(std::int64_t largest) {
    for (const TickUnit& unit : kTickUnits) {
        if (largest >= unit.ns) return unit;
    }
    return kTickUnits.back();
}

int decimalsFor(std::int64_t spacing, std::int64_t unit) {
    int decimals = 0;
    while (unit > 1 && spacing % unit != 0) {
        unit /= 10;
        ++decimals;
    }
    return decimals;
}

QString label(std::int64_t ns, const TickUnit& unit, int decimals) {
    const double value = static_cast<double>(ns) / static_cast<double>(unit.ns);
    return QStringLiteral("%1 %2").arg(QLocale().toString(value, 'f', decimals), QString::fromUtf8(unit.name));
}

} // namespace

std::vector<Tick> makeTicks(const TimeScale& scale, TimeNs origin, double label_room) {
    const Spacing spacing = spacingFor(scale.perPixel(label_room).count());
    const std::int64_t begin = (scale.range.begin - origin).count();
    const std::int64_t end = (scale.range.end - origin).count();
    const TickUnit unit = unitFor(std::max(std::abs(begin), std::abs(end)));
    const int decimals = decimalsFor(spacing.major, unit.ns);

    std::vector<Tick> ticks;
    // Division rounds towards zero: start one tick early and skip those before the range.
    for (std::int64_t at = (begin / spacing.minor - 1) * spacing.minor; at <= end; at += spacing.minor) {
        if (at < begin) continue;
        const bool major = at % spacing.major == 0;
        ticks.push_back({scale.x(origin + TimeNs{at}), major, major ? label(at, unit, decimals) : QString()});
    }
    return ticks;
}

} // namespace bubblescope::gui
