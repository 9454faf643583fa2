#pragma once

#include "core/timeline/step_timeline.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace bubblescope {

/// Ends of records that lie no further apart than this count as one: the time of a call or two, and at most a twentieth
/// of what took place.
[[nodiscard]] inline TimeNs recordTolerance(TimeNs of) {
    return std::clamp(of / 20, TimeNs{0}, TimeNs{100'000});
}

/// A send and a receive that a rank posted together between two ops, to and from the same rank, and waited for
/// together: PyTorch's batch_isend_irecv, Megatron-core's send_forward_recv_backward.
struct TransferBatch {
    const CommSpan* send = nullptr;    ///< of the step
    const CommSpan* receive = nullptr; ///< the same
    TimeNs received{0};                ///< when the receive's own transfer ended, at the latest
};

/// The batches of a step. The record of a receive in one ends with the slower of both transfers; which of the two that
/// was shows at the other rank, whose batch mostly holds the same two: a transfer had ended when either side's record
/// ended. Where all four records end together, transfers on the same links outside of batches tell which is slow.
///
/// Only records that begin when a rank posts a transfer form batches. Records of the transfers themselves, as in
/// simulations, begin at both ranks at once. Quick where there are no batches, else O(n log n) in spans.
class TransferBatches {
public:
    /// The step must outlive it.
    explicit TransferBatches(const StepTimeline& step);

    [[nodiscard]] bool empty() const { return batches_.empty(); }
    [[nodiscard]] std::span<const TransferBatch> all() const { return batches_; } ///< by receive
    /// When the transfer of a receive ended: with its record, or before it in a batch.
    [[nodiscard]] TimeNs endOf(const CommSpan& receive) const {
        if (batches_.empty()) return receive.end;
        const auto found = std::ranges::lower_bound(batches_, &receive, {}, &TransferBatch::receive);
        return found == batches_.end() || found->receive != &receive ? receive.end : found->received;
    }

private:
    std::vector<TransferBatch> batches_;
};

} // namespace bubblescope
