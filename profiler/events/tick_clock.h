#pragma once

#include "core/base/time.h"

#include <cstdint>
#include <deque>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif
#include <ctime>

namespace bubblescope::profiler {

/// Reads a system clock, in nanoseconds.
[[nodiscard]] inline TimeNs readSystemClock(clockid_t clock) noexcept {
    constexpr std::int64_t kSecond = 1'000'000'000;
    timespec time{};
    ::clock_gettime(clock, &time);
    return TimeNs{std::int64_t{time.tv_sec} * kSecond + time.tv_nsec};
}

/// True if this machine's time stamp counter runs at a constant rate, in sync on all cores. The kernel checks the
/// counter at boot, and then uses it as its clock source.
[[nodiscard]] bool countsEvenly();

/// The cheapest clock, for the hot path: it costs half as much as CLOCK_MONOTONIC if the time stamp counter can be
/// used. Only TickMap can convert the clock's unit.
class TickClock {
public:
    explicit TickClock(bool counter = countsEvenly()) : counter_(counter) {}

    [[nodiscard]] std::int64_t now() const noexcept {
#if defined(__x86_64__)
        if (counter_) return static_cast<std::int64_t>(__rdtsc());
#endif
        return readSystemClock(CLOCK_MONOTONIC).count();
    }

private:
    bool counter_;
};

/// All clocks, read at the same moment.
struct ClockReading {
    std::int64_t ticks = 0;
    TimeNs monotonic{0};
    TimeNs realtime{0};
};
/// Takes several readings and returns the one in which the clocks were read within the shortest time.
[[nodiscard]] ClockReading readAllClocks(const TickClock& clock);

/// Converts ticks and wall-clock times to CLOCK_MONOTONIC, using clock readings taken before and after them. Clocks are
/// assumed to run at a constant rate between two readings; after the last reading, the previous rate continues. Times
/// that are out of range are clamped to about ±73 years. Not thread-safe.
class TickMap {
public:
    /// Must be called in time order.
    void add(const ClockReading& reading);

    /// Requires at least one reading.
    [[nodiscard]] TimeNs fromTicks(std::int64_t ticks) const;
    /// Uses only the last reading before the time, because CLOCK_REALTIME may have been set since.
    [[nodiscard]] TimeNs fromRealtime(TimeNs realtime) const;

    [[nodiscard]] const ClockReading& last() const { return readings_.back(); }

private:
    static constexpr std::size_t kKept = 64;

    std::deque<ClockReading> readings_;
};

} // namespace bubblescope::profiler
