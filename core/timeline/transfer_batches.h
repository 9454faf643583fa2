#pragma once

#include "core/timeline/step_timeline.h"

#include <algorithm>
#include <span>
#include <vector>

namespace bubblescope {

/// Recorded ends that differ by at most this time count as simultaneous: the duration of one or two calls, but at most
/// a twentieth of `of`.
[[nodiscard]] inline TimeNs recordTolerance(TimeNs of) {
    return std::clamp(of / 20, TimeNs{0}, TimeNs{100'000});
}

/// A send and a receive with the same peer that a rank posted together between two ops and waited for together, as in
/// PyTorch's batch_isend_irecv or Megatron-core's send_forward_recv_backward.
struct TransferBatch {
    const CommSpan* send = nullptr;    ///< points into the step
    const CommSpan* receive = nullptr; ///< points into the step
    TimeNs received{0};                ///< latest possible end of the receive's transfer
};

/// The batches of a step. In a batch, the record of a receive ends when the slower transfer ends. The peer's batch,
/// which usually contains the same two transfers, shows which was slower: a transfer ends with its shorter record. If
/// all four records end together, transfers on the same links outside of batches identify the slow one.
///
/// Batches are formed only from records that start when a rank posts a transfer. Records of the transfers themselves,
/// as in simulations, start simultaneously on both ranks. Fast without batches, otherwise O(n log n) for n spans.
class TransferBatches {
public:
    /// `step` must outlive this object.
    explicit TransferBatches(const StepTimeline& step);

    [[nodiscard]] bool empty() const { return batches_.empty(); }
    [[nodiscard]] std::span<const TransferBatch> all() const { return batches_; } ///< sorted by receive
    /// End of a receive's transfer: the end of its record or, in a batch, possibly an earlier time.
    [[nodiscard]] TimeNs endOf(const CommSpan& receive) const {
        if (batches_.empty()) return receive.end;
        const auto found = std::ranges::lower_bound(batches_, &receive, {}, &TransferBatch::receive);
        return found == batches_.end() || found->receive != &receive ? receive.end : found->received;
    }

private:
    std::vector<TransferBatch> batches_;
};

} // namespace bubblescope
