#include "core/analysis/whatif/usual_time.h"

#include <algorithm>
#include <cstdint>

namespace bubblescope {

TimeNs usualTime(ReplayOp op, std::vector<TimeNs> measured) {
    if (measured.empty() || op == ReplayOp::LateStart) return TimeNs{0};
    const auto count = static_cast<std::int64_t>(measured.size());
    if (replayOpInfo(op).communication) {
        const auto middle = measured.begin() + count / 2;
        std::ranges::nth_element(measured, middle);
        return count % 2 != 0 ? *middle : (*middle + *std::max_element(measured.begin(), middle)) / 2;
    }
    // Sums stay small: a step of hours with a million ops is far below 2^63 ns.
    TimeNs sum{0};
    for (const TimeNs time : measured)
        sum += time;
    return TimeNs{(sum.count() + count / 2) / count};
}

} // namespace bubblescope
