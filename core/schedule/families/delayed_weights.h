#pragma once

#include "core/schedule/schedule.h"
#include "core/theory/closed_form.h"

#include <algorithm>
#include <vector>

namespace bubblescope {

/// 1F1B with the backward in halves: `warmup` forwards, then one forward and one input gradient in turn, then
/// the input gradients that are left. From input gradient number `lag` on (counted from 0) each is followed
/// by the oldest weight gradient still owed; the last `lag` of those come at the end. `forward(k)` gives the
/// k-th forward, `input(k)` the k-th input gradient; its weight gradient is the k-th as well.
template <class Forward, class Input>
[[nodiscard]] std::vector<Op> delayedWeightOrder(int count, int warmup, int lag, Forward forward, Input input) {
    std::vector<Op> ops;
    ops.reserve(3 * static_cast<std::size_t>(count));
    const auto weight = [&input](int k) {
        Op op = input(k);
        op.kind = OpKind::BackwardWeight;
        return op;
    };
    for (int k = 0; k < warmup; ++k)
        ops.push_back(forward(k));
    for (int k = 0; k < count; ++k) {
        if (warmup + k < count) ops.push_back(forward(warmup + k));
        ops.push_back(input(k));
        if (k >= lag) ops.push_back(weight(k - lag));
    }
    for (int k = std::max(0, count - lag); k < count; ++k)
        ops.push_back(weight(k));
    return ops;
}

/// The form of such orders with lag s on rank s and warm-up for 1F1B or, with v > 1, for groups of at least p:
/// ZB-H1 and interleaved zero-bubble. Covers slow transfers too.
[[nodiscard]] Result<ClosedForm> delayedWeightForm(const Schedule& schedule, const CostModel& costs);
[[nodiscard]] PeakForm delayedWeightPeaks(const Schedule& schedule);

} // namespace bubblescope
