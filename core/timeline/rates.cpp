#include "core/timeline/rates.h"

#include <algorithm>

namespace bubblescope {
BubbleRates bubbleRates(const StepTimeline& step) {
    TimeNs busy_total{0};
    TimeNs busiest{0};
    TimeNs longest{0};
    TimeNs longest_busy{0};
    for (const auto& ops : step.ranks) {
        TimeNs busy{0};
        TimeNs covered = step.begin;
        TimeNs first = step.end;
        for (const TimelineOp& op : ops) {
            if (op.start >= step.end) break;
            first = std::min(first, op.start);
            const TimeNs from = std::max(covered, op.start);
            const TimeNs to = std::min(op.end, step.end);
            if (to > from) busy += to - from;
            covered = std::max(covered, to);
        }
        busy_total += busy;
        busiest = std::max(busiest, busy);
        if (covered - first > longest) {
            longest = covered - first;
            longest_busy = busy;
        }
    }
    const TimeNs capacity = step.wall() * static_cast<std::int64_t>(step.ranks.size());
    return {shareOf(capacity - busy_total, capacity), shareOf(longest - longest_busy, longest),
            shareOf(step.wall() - busiest, busiest)};
}

} // namespace bubblescope
