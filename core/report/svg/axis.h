#pragma once

#include "core/base/time.h"

#include <string>
#include <vector>

namespace bubblescope::svg {

/// A mark on the time axis.
struct Tick {
    TimeNs at{0};
    std::string label; ///< with its unit, such as "5 ms"; empty for the small marks in between
};

/// The marks of an axis, counted from zero: small ones, and labelled ones at 1, 2 or 5 times a power of ten, at least
/// `least` apart.
struct TickSpacing {
    TimeNs major{1};
    TimeNs minor{1};

    [[nodiscard]] static TickSpacing atLeast(TimeNs least);
};

struct TimeUnit {
    TimeNs size{1};
    const char* name = "ns";

    /// The unit for the largest value shown, so that labels have few leading zeros or digits.
    [[nodiscard]] static TimeUnit of(TimeNs largest);
};

/// Marks from `from` to `to`, both included; labelled ones at least `least` apart.
[[nodiscard]] std::vector<Tick> makeTicks(TimeNs from, TimeNs to, TimeNs least);

/// As short as possible with four exact digits: "5 ms", "1.25 ms", "820 ns".
[[nodiscard]] std::string shortTime(TimeNs time);

} // namespace bubblescope::svg
