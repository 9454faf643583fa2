#include "app/gui/timeline/time_axis.h"

#include "core/report/svg/axis.h"

#include <QLocale>

#include <algorithm>
#include <chrono>

namespace bubblescope::gui {

namespace {

int decimalsFor(std::int64_t spacing, std::int64_t unit) {
    int decimals = 0;
    while (unit > 1 && spacing % unit != 0) {
        unit /= 10;
        ++decimals;
    }
    return decimals;
}

} // namespace

std::vector<Tick> makeTicks(const TimeScale& scale, TimeNs origin, double label_room) {
    const auto [major, minor] = svg::TickSpacing::atLeast(scale.perPixel(label_room));
    const TimeNs begin = scale.range.begin - origin;
    const TimeNs end = scale.range.end - origin;
    const auto unit = svg::TimeUnit::of(std::max(std::chrono::abs(begin), std::chrono::abs(end)));
    const int decimals = decimalsFor(major.count(), unit.size.count());
    const auto label = [&](TimeNs at) {
        const double value = fractionOf(at, unit.size);
        return QStringLiteral("%1 %2").arg(QLocale().toString(value, 'f', decimals), QString::fromUtf8(unit.name));
    };
    std::vector<Tick> ticks;
    // Division rounds towards zero, so start one tick early and skip ticks before the range.
    for (TimeNs at = (begin / minor - 1) * minor; at <= end; at += minor) {
        if (at < begin) continue;
        const bool labelled = at % major == TimeNs{0};
        ticks.push_back({scale.x(origin + at), labelled, labelled ? label(at) : QString()});
    }
    return ticks;
}

} // namespace bubblescope::gui
