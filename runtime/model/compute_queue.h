#pragma once

#include "runtime/accelerator/work_queue.h"
#include "runtime/model/live_tensor.h"
#include "runtime/model/tensor.h"

#include <cstdint>
#include <memory>

namespace bubblescope::runtime {

/// Where the stages of one rank compute: a queue of a device, and how its memory becomes tensors that other ranks take.
/// Used by the rank's thread.
class ComputeQueue : public WorkQueue {
public:
    /// What suits the device.
    struct Traits {
        /// Softmax weights of attention are saved for the backward, not made again: memory grows with the square of
        /// the tokens.
        bool saves_attention = false;
        /// A piece's weight gradient is computed apart from the sum, and added to it: what is shown of it does not
        /// depend on the order of the pieces.
        bool separate_gradients = false;
        /// Each part of the parameters begins at a multiple of so many values.
        std::int64_t alignment = 1;
    };

    ComputeQueue(std::shared_ptr<Accelerator> device, Accelerator::Priority priority, Traits traits)
        : WorkQueue(std::move(device), priority), traits_(traits) {}

    [[nodiscard]] const Traits& traits() const { return traits_; }

    /// What layers that are executed again are queued on.
    [[nodiscard]] virtual WorkQueue& checks() = 0;
    /// Where work is queued from now: inside a check that of checks, else this one.
    [[nodiscard]] virtual WorkQueue& current() = 0;
    /// Values that have just been computed on `on`, for a probe.
    [[nodiscard]] virtual std::unique_ptr<LiveTensor> live(WorkQueue& on, void* data, std::int64_t count,
                                                           Storage storage) = 0;

    /// A matrix as other ranks take it.
    [[nodiscard]] virtual Tensor give(Buffer buffer, std::int64_t rows, std::int64_t columns, Storage storage) = 0;
    /// The opposite. std::logic_error where the tensor is not of that shape, or belongs elsewhere.
    [[nodiscard]] virtual Buffer take(Tensor tensor, std::int64_t rows, std::int64_t columns, Storage storage) = 0;
    /// The address of such a tensor's values; likewise.
    [[nodiscard]] virtual const void* valuesOf(const Tensor& tensor, std::int64_t rows, std::int64_t columns,
                                               Storage storage) = 0;

private:
    Traits traits_;
};

} // namespace bubblescope::runtime
