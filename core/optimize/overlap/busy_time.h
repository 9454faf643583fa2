#pragma once

#include "core/base/time.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace bubblescope::overlap {

/// The busy intervals of a stream.
class BusyTime {
public:
    /// Intervals come in order of time and do not overlap.
    void add(TimeNs start, TimeNs end) {
        if (start == end) return;
        if (!busy_.empty() && busy_.back().second == start) {
            busy_.back().second = end;
        } else {
            busy_.emplace_back(start, end);
        }
    }

    /// Busy time from `start` to `end`.
    [[nodiscard]] TimeNs within(TimeNs start, TimeNs end) const {
        TimeNs sum{0};
        auto at = std::ranges::upper_bound(busy_, start, {}, &Interval::second);
        for (; at != busy_.end() && at->first < end; ++at)
            sum += std::min(end, at->second) - std::max(start, at->first);
        return sum;
    }

private:
    using Interval = std::pair<TimeNs, TimeNs>;
    std::vector<Interval> busy_;
};

} // namespace bubblescope::overlap
