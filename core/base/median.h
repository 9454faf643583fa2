#pragma once

#include "core/base/time.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace bubblescope {

/// Returns the median, or the upper of the two middle values; 0 for an empty list. Reorders the values.
[[nodiscard]] inline TimeNs medianInPlace(std::span<TimeNs> values) {
    if (values.empty()) return TimeNs{0};
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// Same as medianInPlace(), but on a copy.
[[nodiscard]] inline TimeNs median(std::vector<TimeNs> values) {
    return medianInPlace(values);
}

} // namespace bubblescope
