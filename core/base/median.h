#pragma once

#include "core/base/time.h"

#include <algorithm>
#include <vector>

namespace bubblescope {

/// Middle value (the upper one of two); 0 of none.
[[nodiscard]] inline TimeNs median(std::vector<TimeNs> values) {
    if (values.empty()) return TimeNs{0};
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

} // namespace bubblescope
