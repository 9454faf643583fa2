#pragma once

#include "core/base/result.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace bubblescope {

/// The only time type: integer nanoseconds. Used for durations and for points in time; the owner of a point documents
/// its origin (a trace's clock, the start of a step). Use doubles only in statistics and for pixels.
using TimeNs = std::chrono::duration<std::int64_t, std::nano>;

/// The half-open interval [start, end).
struct TimeInterval {
    TimeNs start{0};
    TimeNs end{0};

    [[nodiscard]] TimeNs duration() const { return end - start; }
};

/// Parses "1.5ms", "800us", "20ns", "2s"; a bare "0" needs no unit. Usage errors: negative times, other units, trailing
/// characters, values beyond int64 nanoseconds, and fractions of a nanosecond, which would have to be rounded.
[[nodiscard]] Result<TimeNs> parseTime(std::string_view text);

/// `part` as a fraction of `whole`; 0 if `whole` is 0.
[[nodiscard]] inline double fractionOf(TimeNs part, TimeNs whole) {
    return whole.count() > 0 ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0;
}

/// Formats a time for display with three decimals in a suitable unit ("1.500 ms", "165.000 ms", "820 ns").
[[nodiscard]] std::string formatTime(TimeNs time);

/// Similar to formatTime(), but with an explicit sign for differences ("+0.012 ms", "-3 ns", "0 ns").
[[nodiscard]] std::string formatTimeDelta(TimeNs time);

/// A recorded message exchange: `asker` sends at t0, `replier` receives at t1 and replies at t2, `asker` receives the
/// reply at t3.
struct Ping {
    int asker = 0;
    int replier = 0;
    TimeNs t0{0};
    TimeNs t1{0};
    TimeNs t2{0};
    TimeNs t3{0};
};

template <class Wire>
void fields(Wire& wire, Ping& value) {
    auto& [asker, replier, t0, t1, t2, t3] = value;
    wire(asker, replier, t0, t1, t2, t3);
}

} // namespace bubblescope
