#pragma once

#include "core/base/time.h"
#include "runtime/model/tensor.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// A rank's device with queues. Calls of the rank's stages only queue their work; the times of the work are known after
/// the step. A rank without a device computes on the host, where work is done when a call returns.
///
/// Used by the rank's thread. Failures are exceptions.
class RankDevice {
public:
    enum class Direction : std::uint8_t { Forward, Backward }; ///< activations; gradients

    struct Span {
        TimeNs begin{0};
        TimeNs end{0};
    };
    /// Times of an op and of the arrival of its inputs, on the host's clock.
    struct OpTimes {
        Span op;
        std::vector<Span> transfers; ///< one per receive(), from the sender's completion to the arrival here; empty
                                     ///< spans within the rank
        std::vector<Span> sums;      ///< one per addUp(), beginning when this rank reached the sum
    };

    /// One of the device's streams, for profilers.
    struct NamedStream {
        std::string purpose;    ///< "compute", "incoming activations" …
        void* native = nullptr; ///< see Accelerator::nativeStream()
    };

    virtual ~RankDevice() = default;

    /// To be called first, on the rank's thread.
    virtual void bindThread() = 0;

    /// To be called before an op. On a device that must not fall far behind the host, waits for ops that were queued
    /// long before.
    virtual void waitForRoom() {}
    /// Begins a step, when no rank has work queued. Times are recorded from here on.
    virtual void beginStep() = 0;
    /// Moves a tensor that was handed over to this rank, for the op that begins next: queues the transfer, and makes
    /// the work queued next wait for it. With a latency the transfer takes at least that long. A tensor of the rank
    /// itself is returned without a transfer.
    [[nodiscard]] virtual Tensor receive(Tensor tensor, Direction direction, std::optional<TimeNs> latency) = 0;
    /// The work queued between these two is an op. With a nominal time the device is kept busy until that has passed
    /// since the op's begin, not counting its `sums`, which are spread evenly over that time with the last one at its
    /// end. Ops with equal keys perform the same work on other data.
    virtual void beginOp(std::uint64_t key, std::optional<TimeNs> nominal, int sums) = 0;
    virtual void endOp() = 0;
    /// The op has reached a sum. To be called before its part is handed over.
    virtual void beginSum() = 0;
    /// Adds parts, this rank's and those that others have handed over, in their order, and makes the work queued next
    /// wait for the sum. With a latency it takes at least that long after the last part has been computed.
    [[nodiscard]] virtual Tensor addUp(std::vector<Tensor> parts, std::optional<TimeNs> latency) = 0;
    /// Makes all users of the tensor wait for the work that this rank has queued so far.
    [[nodiscard]] virtual Tensor handOver(Tensor tensor) = 0;
    /// Waits until all work is done. Returns the ops since the last call.
    [[nodiscard]] virtual std::vector<OpTimes> finishOps() = 0;

    /// The streams that the rank has now. New ones come last.
    [[nodiscard]] virtual std::vector<NamedStream> streams() const { return {}; }

    // Checks in bubbles. They have a separate queue, whose work yields to other work of the device.

    /// To be called before the first step of a run with checks.
    virtual void prepareChecks() = 0;
    /// The time at which the step began. To be called after beginStep(), if the step is checked. Waits for the device.
    [[nodiscard]] virtual TimeNs stepBegan() = 0;
    /// Work that is queued next begins no earlier than `length` after the begin of the step.
    virtual void holdSinceStep(TimeNs length) = 0;
    /// Waits for the ops queued so far. Returns the end of the last op of the step; nothing before the first.
    [[nodiscard]] virtual std::optional<TimeNs> finishSoFar() = 0;
    /// Executes the work that `work` queues in the queue of checks, after all that the rank has queued so far; waits
    /// for it. With a nominal time the queue is kept busy until that has passed.
    [[nodiscard]] virtual Span runCheck(std::optional<TimeNs> nominal, const std::function<void()>& work) = 0;
    /// Whether a tensor that was handed over can be used here at `now`; with a latency it must have been ready for that
    /// long.
    [[nodiscard]] virtual bool arrived(const Tensor& tensor, std::optional<TimeNs> latency, TimeNs now) = 0;
    /// Copies a digest of another rank's device to this rank's, after all that this rank has queued so far. The
    /// original must be kept until then.
    [[nodiscard]] virtual std::shared_ptr<const LateTensor> adopt(std::shared_ptr<const LateTensor> note) = 0;
};

} // namespace bubblescope::runtime
