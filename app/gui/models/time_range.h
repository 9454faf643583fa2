#pragma once

#include "core/base/time.h"

namespace bubblescope::gui {

/// A half-open piece of the trace's time axis.
struct TimeRange {
    TimeNs begin{0};
    TimeNs end{0};

    [[nodiscard]] TimeNs length() const { return end - begin; }
    [[nodiscard]] bool contains(TimeNs time) const { return begin <= time && time < end; }
    friend constexpr bool operator==(const TimeRange&, const TimeRange&) = default;
};

/// The part of the range that both share, in time; 0 when they do not touch.
[[nodiscard]] inline TimeNs overlap(const TimeRange& a, const TimeRange& b) {
    const TimeNs begin = a.begin > b.begin ? a.begin : b.begin;
    const TimeNs end = a.end < b.end ? a.end : b.end;
    return end > begin ? end - begin : TimeNs{0};
}

/// The range with `share` of its length added on either side.
[[nodiscard]] inline TimeRange padded(const TimeRange& range, double share) {
    const TimeNs pad{static_cast<std::int64_t>(static_cast<double>(range.length().count()) * share)};
    return {range.begin - pad, range.end + pad};
}

} // namespace bubblescope::gui
