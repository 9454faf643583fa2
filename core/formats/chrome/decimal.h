#pragma once

#include "core/base/time.h"

#include <optional>
#include <string_view>

namespace bubblescope::chrome {

/// A JSON number of microseconds as nanoseconds, computed from its digits: exact up to the last
/// nanosecond of int64, where a double has lost hundreds of them. Finer digits are rounded, exponents are
/// understood. Nothing for text that is no number and for times beyond int64.
[[nodiscard]] std::optional<TimeNs> microsecondsToNs(std::string_view number);

} // namespace bubblescope::chrome
