#pragma once

#include "core/base/time.h"

#include <string>
#include <vector>

namespace bubblescope::svg {

/// A mark on the time axis.
struct Tick {
    TimeNs at{0};
    std::string label; ///< with its unit, such as "5 ms"; empty on the small marks between
};

/// Marks from `from` to `to`, both included; labelled ones at least `least` apart, at 1, 2 or 5 times a power
/// of ten.
[[nodiscard]] std::vector<Tick> makeTicks(TimeNs from, TimeNs to, TimeNs least);

/// As short as it is exact to four digits: "5 ms", "1.25 ms", "820 ns".
[[nodiscard]] std::string shortTime(TimeNs time);

} // namespace bubblescope::svg
