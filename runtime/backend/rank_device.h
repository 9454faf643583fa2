#pragma once

#include "core/base/time.h"
#include "runtime/model/tensor.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace bubblescope::runtime {

/// A rank's device that works through queues: calls to the rank's stages only queue the work, and when it was done is
/// known after the step. A rank without one computes on the host, where a call returns when its work is done.
///
/// Used by the rank's thread. Failures are exceptions.
class RankDevice {
public:
    enum class Direction : std::uint8_t { Forward, Backward }; ///< activations; gradients

    struct Span {
        TimeNs begin{0};
        TimeNs end{0};
    };
    /// When an op was worked on, and when what it had been sent arrived; on the host's clock.
    struct OpTimes {
        Span op;
        std::vector<Span> transfers; ///< from being there to being here, one per receive(); empty spans within the rank
        std::vector<Span> sums;      ///< one per addUp(), from when this rank came to it
    };

    virtual ~RankDevice() = default;

    /// Before anything else, on the rank's thread.
    virtual void bindThread() = 0;

    /// To be called before an op: where the device must not fall far behind the host, waits until it has done the ops
    /// that were queued long before.
    virtual void waitForRoom() {}
    /// A step begins; no rank has work queued. Times are taken from here on.
    virtual void beginStep() = 0;
    /// Makes what was handed over this rank's, for the op that is begun next: queues the transfer, and what is queued
    /// next waits for it. With a latency the transfer takes that long at least. A tensor of the rank itself is returned
    /// as it is, without a transfer.
    [[nodiscard]] virtual Tensor receive(Tensor tensor, Direction direction, std::optional<TimeNs> latency) = 0;
    /// What is queued between these two is an op. With a nominal time the device is kept busy until that has passed
    /// since the op's begin, what its `sums` take aside: they lie evenly spread over that time, the last one at its
    /// end. Ops with equal keys do the same with other data.
    virtual void beginOp(std::uint64_t key, std::optional<TimeNs> nominal, int sums) = 0;
    virtual void endOp() = 0;
    /// The op has come to a sum: to be called before its part is handed over.
    virtual void beginSum() = 0;
    /// Adds up parts, this rank's and those that others have handed over, in their order; what is queued next waits for
    /// it. With a latency it takes that long at least from when the last part is computed.
    [[nodiscard]] virtual Tensor addUp(std::vector<Tensor> parts, std::optional<TimeNs> latency) = 0;
    /// Makes what this rank has queued so far a condition of using the tensor elsewhere.
    [[nodiscard]] virtual Tensor handOver(Tensor tensor) = 0;
    /// Waits until all is done; the ops since the last call.
    [[nodiscard]] virtual std::vector<OpTimes> finishOps() = 0;

    // Checks in bubbles. They have a separate queue, whose work waits while the device has other work.

    /// Before the first step of a run that checks itself.
    virtual void prepareChecks() = 0;
    /// Behind beginStep(), where the step is checked: when it began. Waits for the device.
    [[nodiscard]] virtual TimeNs stepBegan() = 0;
    /// What is queued next begins that long after the step began at the earliest.
    virtual void holdSinceStep(TimeNs length) = 0;
    /// Waits for the ops queued so far; when the last one of the step ended. Nothing before the first.
    [[nodiscard]] virtual std::optional<TimeNs> finishSoFar() = 0;
    /// What `work` queues runs there, behind all that the rank has queued so far; waits for it. With a nominal time the
    /// queue is kept busy until that has passed.
    [[nodiscard]] virtual Span runCheck(std::optional<TimeNs> nominal, const std::function<void()>& work) = 0;
    /// Whether what was handed over can be used here at `now`; with a latency it must have been ready that long.
    [[nodiscard]] virtual bool arrived(const Tensor& tensor, std::optional<TimeNs> latency, TimeNs now) = 0;
    /// A digest of another rank's device becomes this rank's, behind all that this rank has queued so far. The other's
    /// must be kept until then.
    [[nodiscard]] virtual std::shared_ptr<const LateTensor> adopt(std::shared_ptr<const LateTensor> note) = 0;
};

} // namespace bubblescope::runtime
