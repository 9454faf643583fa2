#pragma once

#include "core/base/time.h"

#include <optional>
#include <string_view>

namespace bubblescope::chrome {

/// Converts a JSON number of microseconds to nanoseconds, computed from its digits: exact to the last nanosecond of
/// int64, where a double is off by hundreds. Finer digits are rounded; exponents are supported. Nothing for text that
/// is not a number and for times beyond int64.
[[nodiscard]] std::optional<TimeNs> microsecondsToNs(std::string_view number);

} // namespace bubblescope::chrome
