#pragma once

#include "core/base/time.h"

#include <string>
#include <vector>

namespace bubblescope::svg {

/// A tick on the time axis.
struct Tick {
    TimeNs at{0};
    std::string label; ///< text with its unit, such as "5 ms"; empty for minor ticks
};

/// Spacing of the ticks on an axis, counted from zero: minor ticks, and labelled ticks at 1, 2 or 5 times a power of
/// ten that are at least `least` apart.
struct TickSpacing {
    TimeNs major{1};
    TimeNs minor{1};

    [[nodiscard]] static TickSpacing atLeast(TimeNs least);
};

struct TimeUnit {
    TimeNs size{1};
    const char* name = "ns";

    /// Unit for the largest displayed value, chosen so that labels have few leading zeros or digits.
    [[nodiscard]] static TimeUnit of(TimeNs largest);
};

/// Ticks from `from` to `to` (inclusive); labelled ticks are at least `least` apart.
[[nodiscard]] std::vector<Tick> makeTicks(TimeNs from, TimeNs to, TimeNs least);

/// The shortest form with up to four significant digits: "5 ms", "1.25 ms", "820 ns".
[[nodiscard]] std::string shortTime(TimeNs time);

} // namespace bubblescope::svg
