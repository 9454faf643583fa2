#pragma once

#include "core/base/time.h"

#include <optional>
#include <string_view>

namespace bubblescope::chrome {

/// Converts the digits of a JSON number of microseconds to nanoseconds. Exact to the nanosecond over the range of
/// int64, where a double can be off by hundreds of nanoseconds. Rounds to nanoseconds; supports exponents. None if the
/// text is not a number or the time does not fit in int64.
[[nodiscard]] std::optional<TimeNs> microsecondsToNs(std::string_view number);

} // namespace bubblescope::chrome
