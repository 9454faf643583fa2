#pragma once

#include "core/base/time.h"

#include <algorithm>
#include <vector>

namespace bubblescope {

/// Returns the union of intervals as disjoint intervals sorted by start; touching intervals are merged. O(n log n).
[[nodiscard]] inline std::vector<TimeInterval> unionOf(std::vector<TimeInterval> intervals) {
    std::ranges::sort(intervals, {}, &TimeInterval::start);
    std::vector<TimeInterval> merged;
    for (const TimeInterval& each : intervals) {
        if (!merged.empty() && each.start <= merged.back().end)
            merged.back().end = std::max(merged.back().end, each.end);
        else
            merged.push_back(each);
    }
    return merged;
}

} // namespace bubblescope
