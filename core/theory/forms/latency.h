#pragma once

#include "core/cost/cost_model.h"

#include <algorithm>
#include <cstdint>

namespace bubblescope {

// The bubble that latency and narrow loops add on equal stages, beyond the (p−1)·(t_f+t_b+2·c) of filling and
// draining. t_f and t_b are the times of one chunk, c is a transfer's latency.

/// Loss from turning between forward and backward. Let each rank of a 1F1B run d warm-up forwards more than the next
/// (1F1B: 1, eager: 2). Follow a forward from rank 0 down to rank k, the backward that follows it there in the list, up
/// again to rank 0, and the next forward of the list there. That takes (k+1)·(t_f+t_b) + 2·k·c, and the new forward is
/// d·k+1 micro-batches later, which alone would have taken (d·k+1)·(t_f+t_b). So every border passed costs
/// 2·c − (d−1)·(t_f+t_b) more than work in its place, if that is positive. Over the whole depth, k = p−1, the m−1
/// micro-batches after the first have room for ⌊(m−1)·(p−1) / (d·(p−1)+1)⌋ borders: full turns and part of a last one.
[[nodiscard]] inline TimeNs turningLoss(std::int64_t p, std::int64_t m, std::int64_t d, const CostModel& costs) {
    const TimeNs border = 2 * costs.comm - (d - 1) * (costs.times.forward + costs.times.backward);
    return (m - 1) * (p - 1) / (d * (p - 1) + 1) * std::max(TimeNs{0}, border);
}

/// Loss from wrapping from one chunk to the next. A micro-batch that leaves a rank's chunk returns for the next one
/// p·(t_f+c) later; meanwhile the rank has n·t_f of work on the n micro-batches that pass the chunk together. It waits
/// for the difference at each of the v−1 wraps, forward and likewise backward.
struct WrapLoss {
    TimeNs forward{0};
    TimeNs backward{0};

    [[nodiscard]] TimeNs both() const { return forward + backward; }
};

[[nodiscard]] inline WrapLoss wrapLoss(std::int64_t p, std::int64_t v, std::int64_t n, const CostModel& costs) {
    const auto missing = [&](TimeNs op) { return (v - 1) * std::max(TimeNs{0}, p * (op + costs.comm) - n * op); };
    return {missing(costs.times.forward), missing(costs.times.backward)};
}

} // namespace bubblescope
