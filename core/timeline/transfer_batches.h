#pragma once

#include "core/timeline/step_timeline.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace bubblescope {

/// Recorded ends at most this far apart count as simultaneous: the time of a call or two, but at most a twentieth of
/// `of`.
[[nodiscard]] inline TimeNs recordTolerance(TimeNs of) {
    return std::clamp(of / 20, TimeNs{0}, TimeNs{100'000});
}

/// A send and a receive that a rank posted together between two ops, with the same peer, and waited for together:
/// PyTorch's batch_isend_irecv, Megatron-core's send_forward_recv_backward.
struct TransferBatch {
    const CommSpan* send = nullptr;    ///< points into the step
    const CommSpan* receive = nullptr; ///< points into the step
    TimeNs received{0};                ///< latest time at which the receive's own transfer can have ended
};

/// The batches of a step. A receive's record in a batch ends with the slower of both transfers. The peer's batch, which
/// usually holds the same two transfers, shows which one that was: a transfer has ended as soon as either side's record
/// has. If all four records end together, transfers on the same links outside of batches show which one is slow.
///
/// Only records that begin when a rank posts a transfer form batches. Records of the transfers themselves, as in
/// simulations, begin on both ranks at once. Fast if there are no batches, otherwise O(n log n) in spans.
class TransferBatches {
public:
    /// The step must outlive it.
    explicit TransferBatches(const StepTimeline& step);

    [[nodiscard]] bool empty() const { return batches_.empty(); }
    [[nodiscard]] std::span<const TransferBatch> all() const { return batches_; } ///< sorted by receive
    /// The end of a receive's transfer: that of its record or, in a batch, possibly an earlier time.
    [[nodiscard]] TimeNs endOf(const CommSpan& receive) const {
        if (batches_.empty()) return receive.end;
        const auto found = std::ranges::lower_bound(batches_, &receive, {}, &TransferBatch::receive);
        return found == batches_.end() || found->receive != &receive ? receive.end : found->received;
    }

private:
    std::vector<TransferBatch> batches_;
};

} // namespace bubblescope
