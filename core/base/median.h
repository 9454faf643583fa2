#pragma once

#include "core/base/select.h"
#include "core/base/time.h"

#include <span>
#include <vector>

namespace bubblescope {

/// Middle value (the upper one of two); 0 of none. Leaves the values in another order.
[[nodiscard]] inline TimeNs medianInPlace(std::span<TimeNs> values) {
    if (values.empty()) return TimeNs{0};
    nthElement(values, values.size() / 2);
    return values[values.size() / 2];
}

/// The same.
[[nodiscard]] inline TimeNs median(std::vector<TimeNs> values) {
    return medianInPlace(values);
}

} // namespace bubblescope
