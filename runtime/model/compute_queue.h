#pragma once

#include "runtime/accelerator/work_queue.h"
#include "runtime/model/live_tensor.h"
#include "runtime/model/tensor.h"

#include <cstdint>
#include <memory>

namespace bubblescope::runtime {

/// The queue of a device on which the stages of one rank compute. The queue also converts its memory to tensors that
/// other ranks receive. Owned by shared pointers. Used by the rank's thread.
class ComputeQueue : public WorkQueue, public std::enable_shared_from_this<ComputeQueue> {
public:
    /// Settings that suit the device.
    struct Traits {
        /// Keep the softmax weights of attention for the backward instead of recomputing them. Memory then grows with
        /// the square of the number of tokens.
        bool saves_attention = false;
        /// Compute the weight gradient of a piece separately and then add it to the sum, so that the gradient passed to
        /// probes does not depend on the order of the pieces.
        bool separate_gradients = false;
        /// The offset of each parameter is a multiple of this number of values.
        std::int64_t alignment = 1;
    };

    ComputeQueue(std::shared_ptr<Accelerator> device, Accelerator::Priority priority, Traits traits)
        : WorkQueue(std::move(device), priority), traits_(traits) {}

    [[nodiscard]] const Traits& traits() const { return traits_; }
    /// The pending digests of the rank on a device.
    [[nodiscard]] DigestPages& digests() { return digests_; }

    /// The queue for repeated layers.
    [[nodiscard]] virtual WorkQueue& checks() = 0;
    /// The current queue: the check queue inside a check, otherwise this queue.
    [[nodiscard]] virtual WorkQueue& current() = 0;
    /// Values that have just been computed on `on`, for a probe. `memory` contains them and keeps them unchanged; null
    /// if nothing does.
    [[nodiscard]] virtual std::unique_ptr<LiveTensor> live(WorkQueue& on, void* data, std::int64_t count,
                                                           Storage storage, std::shared_ptr<const Buffer> memory) = 0;

    /// Converts a matrix to a tensor for other ranks.
    [[nodiscard]] virtual Tensor give(Buffer buffer, std::int64_t rows, std::int64_t columns, Storage storage) = 0;
    /// The inverse. Throws std::logic_error if the tensor has a different shape or belongs to another queue.
    [[nodiscard]] virtual Buffer take(Tensor tensor, std::int64_t rows, std::int64_t columns, Storage storage) = 0;
    /// The address of the values of a tensor from give(); throws like take().
    [[nodiscard]] virtual const void* valuesOf(const Tensor& tensor, std::int64_t rows, std::int64_t columns,
                                               Storage storage) = 0;

private:
    Traits traits_;
    DigestPages digests_{*this};
};

} // namespace bubblescope::runtime
