#pragma once

#include "core/base/time.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace bubblescope::chrome {

/// A time as trace events state it: microseconds with three decimals.
[[nodiscard]] inline std::string microseconds(TimeNs time) {
    constexpr std::int64_t kNsPerUs = 1000;
    const bool negative = time < TimeNs{0};
    const std::int64_t ns = std::abs(time.count());
    return fmt::format("{}{}.{:03}", negative ? "-" : "", ns / kNsPerUs, ns % kNsPerUs);
}

} // namespace bubblescope::chrome
