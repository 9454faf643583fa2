#include "profiler/events/tick_clock.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace bubblescope::profiler {
namespace {

/// Limit for times computed from untrusted input: far beyond any real time, but small enough that a few can be added
/// without overflow.
constexpr std::int64_t kFarthest = std::int64_t{1} << 61;

TimeNs withinReach(TimeNs begin, double later) {
    if (!(later > -static_cast<double>(kFarthest))) return TimeNs{-kFarthest};
    if (later > static_cast<double>(kFarthest)) return TimeNs{kFarthest};
    const std::int64_t sum = begin.count() + static_cast<std::int64_t>(later);
    return TimeNs{std::clamp(sum, -kFarthest, kFarthest)};
}

/// The difference, saturated on overflow.
std::int64_t difference(std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    if (!__builtin_sub_overflow(a, b, &out)) return out;
    return a < b ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

} // namespace

bool countsEvenly() {
    std::string source;
    std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> source;
    return source == "tsc";
}

ClockReading readAllClocks(const TickClock& clock) {
    constexpr int kTries = 5;
    ClockReading best;
    std::int64_t closest = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < kTries; ++i) {
        const TimeNs before = readSystemClock(CLOCK_MONOTONIC);
        const TimeNs realtime = readSystemClock(CLOCK_REALTIME);
        const std::int64_t ticks = clock.now();
        const TimeNs after = readSystemClock(CLOCK_MONOTONIC);
        const std::int64_t apart = (after - before).count();
        if (apart >= closest) continue;
        closest = apart;
        best = {ticks, before + (after - before) / 2, realtime};
    }
    return best;
}

void TickMap::add(const ClockReading& reading) {
    // Two readings at the same tick do not define a rate.
    if (!readings_.empty() && reading.ticks <= readings_.back().ticks) return;
    readings_.push_back(reading);
    if (readings_.size() > kKept) readings_.pop_front();
}

TimeNs TickMap::fromTicks(std::int64_t ticks) const {
    const auto after = std::upper_bound(readings_.begin() + 1, readings_.end(), ticks,
                                        [](std::int64_t t, const ClockReading& known) { return t < known.ticks; });
    if (readings_.size() < 2) return readings_.front().monotonic;
    const auto to = after == readings_.end() ? std::prev(after) : after;
    const auto from = std::prev(to);
    const double rate =
        static_cast<double>((to->monotonic - from->monotonic).count()) / static_cast<double>(to->ticks - from->ticks);
    return withinReach(from->monotonic, static_cast<double>(difference(ticks, from->ticks)) * rate);
}

TimeNs TickMap::fromRealtime(TimeNs realtime) const {
    const auto after = std::upper_bound(readings_.begin() + 1, readings_.end(), realtime,
                                        [](TimeNs t, const ClockReading& known) { return t < known.realtime; });
    const auto from = std::prev(after);
    const std::int64_t later = difference(realtime.count(), from->realtime.count());
    return from->monotonic + TimeNs{std::clamp(later, -kFarthest, kFarthest)};
}

} // namespace bubblescope::profiler
