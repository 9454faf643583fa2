#pragma once

#include "runtime/accelerator/accelerator.h"
#include "runtime/accelerator/work_queue.h"
#include "runtime/clock/host_clock.h"
#include "runtime/model/compute_queue.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// Converts a device's events to host time, for all ranks on one device. Devices can only measure the time between two
/// events, so a reference event is recorded on an idle stream between two readings of the host's clock. Several
/// attempts are made, and the attempt with the closest readings is used. The measurement is repeated in every step, so
/// that neither clock drift nor the coarse resolution of long intervals matters. All ranks use the same reference
/// event, so they share the same error of a few microseconds.
class DeviceTime {
public:
    DeviceTime(Accelerator& device, HostClock& clock);
    DeviceTime(const DeviceTime&) = delete;
    DeviceTime& operator=(const DeviceTime&) = delete;
    ~DeviceTime();

    /// Records a new reference unless there is one for this step. All ranks must pass the same ascending step numbers,
    /// while no rank has work queued.
    void synchronise(std::int64_t step);

    /// The host time of an event that was reached after the reference was recorded. Thread-safe between calls to
    /// synchronise().
    [[nodiscard]] TimeNs of(Accelerator::Event event) const;

private:
    Accelerator& device_;
    HostClock& clock_;
    std::mutex mutex_;
    Accelerator::Stream stream_;
    Accelerator::Event reference_;
    Accelerator::Event candidate_;
    std::int64_t step_ = -1;
    TimeNs host_{0};
};

/// One rank's share of an accelerator: a stream for computations, one for incoming transfers in each direction, and
/// memory for them. Calls to the rank's stages only queue work, whose times are known after the step. Several ranks may
/// share a device. A transfer between such ranks is a copy made by the receiving rank's stream as soon as the sender
/// has computed the tensor, while both continue to compute. A tensor from another process has already arrived, or its
/// transfer is queued. Only finishOps() and, after limitAhead(), waitForRoom() wait for the device.
///
/// Used by the rank's thread. Failures are reported as exceptions.
class RankQueue final : public ComputeQueue {
public:
    enum class Direction : std::uint8_t { Forward, Backward }; ///< activations; gradients

    struct Span {
        TimeNs begin{0};
        TimeNs end{0};
    };
    /// Times of an op and of the arrival of its inputs, on the host's clock.
    struct OpTimes {
        Span op;
        std::vector<Span> transfers; ///< one per receive(), from the sender's completion to the arrival on this rank;
                                     ///< empty spans for transfers within the rank
        std::vector<Span> sums;      ///< one per addUp(), starting when this rank reached the sum
    };

    /// One of the device's streams, for profilers.
    struct NamedStream {
        std::string purpose;    ///< "compute", "incoming activations" …
        void* native = nullptr; ///< see Accelerator::nativeStream()
    };

    /// Ranks on one device share `time`.
    RankQueue(std::shared_ptr<Accelerator> device, std::shared_ptr<DeviceTime> time);
    RankQueue(const RankQueue&) = delete;
    RankQueue& operator=(const RankQueue&) = delete;
    ~RankQueue() override;

    [[nodiscard]] std::shared_ptr<RankQueue> shared() {
        return std::static_pointer_cast<RankQueue>(shared_from_this());
    }

    /// Must be called first, on the rank's thread.
    void bindThread() { device().bindThread(); }

    /// Call this before an op. After limitAhead(ops), waits until the device has at most `ops` further ops to execute.
    void waitForRoom();
    /// Begins a step; call this while no rank has work queued. Times are recorded from then on.
    void beginStep();
    /// Transfers a tensor that was handed over to this rank, for the op that begins next. The transfer is queued, and
    /// work queued afterwards waits for it. With a latency, the transfer takes at least that time. The rank's own
    /// tensors are returned without a transfer.
    [[nodiscard]] Tensor receive(Tensor tensor, Direction direction, std::optional<TimeNs> latency);
    /// The work queued between beginOp() and endOp() is an op. If a nominal time is given, the device is kept busy for
    /// that long after the op's start, not counting `sums`. The sums are spread evenly over the nominal time; the last
    /// one is at the end of that time. Ops with the same key perform the same work on different data.
    void beginOp(std::uint64_t key, std::optional<TimeNs> nominal, int sums);
    void endOp();
    /// Marks that the op has reached a sum. Call this before the op's part is handed over.
    void beginSum();
    /// Adds up the parts of all ranks in order, and makes the work queued afterwards wait for the sum.
    /// With a latency, the sum is available no earlier than `latency` after the last part was
    /// computed.
    [[nodiscard]] Tensor addUp(std::vector<Tensor> parts, std::optional<TimeNs> latency);
    /// Makes all users of this rank's tensor wait for the work that the rank has queued so far.
    [[nodiscard]] Tensor handOver(Tensor tensor);
    /// Waits until all work is done. Returns the ops since the last call.
    [[nodiscard]] std::vector<OpTimes> finishOps();

    /// The rank's current streams. New ones come last.
    [[nodiscard]] const std::vector<NamedStream>& streams() const { return streams_; }
    /// Adds another stream on which work for the rank runs, such as a link's stream. Call this on this rank's thread,
    /// between steps.
    void addStream(const std::string& purpose, Accelerator::Stream stream);
    void removeStream(Accelerator::Stream stream);

    /// From now on, the host queues at most `ops` ops beyond the op that the device is executing. If peers are other
    /// processes, nothing else prevents the host from queueing a complete step, with memory for all its transfers.
    void limitAhead(std::size_t ops) { ahead_ = ops; }

    // Checks in bubbles. Checks have a separate queue, whose work yields to other work on the device.

    /// Call this before the first step of a run with checks.
    void prepareChecks();
    /// The start time of the step. Call this after beginStep() if the step is checked. Waits for the device.
    [[nodiscard]] TimeNs stepBegan();
    /// Delays the work that is queued next until `length` after the start of the step.
    void holdSinceStep(TimeNs length);
    /// Waits for the ops queued so far. Returns the end of the last op of the step; nothing before the first op.
    [[nodiscard]] std::optional<TimeNs> finishSoFar();
    /// Calls `work`, which adds to the check queue, and waits until the queue has executed it. The work runs after
    /// everything that the rank has queued so far. If a nominal time is given, the queue stays busy until that time has
    /// passed.
    [[nodiscard]] Span runCheck(std::optional<TimeNs> nominal, const std::function<void()>& work);
    /// True if a handed-over tensor can be used on this rank's device at `now`. If a latency is given, the tensor must
    /// have been ready for at least that long.
    [[nodiscard]] bool arrived(const Tensor& tensor, std::optional<TimeNs> latency, TimeNs now);
    /// Copies a digest from another rank's device to this rank's device, after everything that this rank has queued so
    /// far. The original must not be freed before the copy is complete.
    [[nodiscard]] std::shared_ptr<const DeviceSnapshot> adopt(const std::shared_ptr<const DeviceSnapshot>& note);

    // The interface to the rank's stages.
    /// The check queue; it exists after prepareChecks().
    [[nodiscard]] WorkQueue& checks() override { return *checks_; }
    /// The check queue inside runCheck(), otherwise this queue.
    [[nodiscard]] WorkQueue& current() override { return in_check_ ? *checks_ : static_cast<WorkQueue&>(*this); }
    [[nodiscard]] std::unique_ptr<LiveTensor> live(WorkQueue& on, void* data, std::int64_t count, Storage storage,
                                                   std::shared_ptr<const Buffer> memory) override;
    [[nodiscard]] Tensor give(Buffer buffer, std::int64_t rows, std::int64_t columns, Storage storage) override;
    [[nodiscard]] Buffer take(Tensor tensor, std::int64_t rows, std::int64_t columns, Storage storage) override;
    [[nodiscard]] const void* valuesOf(const Tensor& tensor, std::int64_t rows, std::int64_t columns,
                                       Storage storage) override;
    /// True if the time at which a tensor was ready must be recorded.
    [[nodiscard]] bool timesHandOvers() const { return times_hand_overs_ || checks_ != nullptr; }
    /// Makes the queue record the time at which each tensor was ready. Call this before the first step.
    void timeHandOvers() { times_hand_overs_ = true; }
    /// Discards the ops recorded so far if their times are not needed.
    void forgetOps() {
        ops_.clear();
        received_.clear();
    }
    /// An event for the hand-over of a tensor. Events are reused, because drivers take a long time to create or destroy
    /// an event while other threads launch kernels. Thread-safe.
    [[nodiscard]] Accelerator::Event takeHandOver();
    void returnHandOver(Accelerator::Event event);
    /// Keeps a tensor that another thread has finished with until this rank's thread frees its memory. This rank's
    /// stream may have been the last to use it, and only this rank's thread may submit work there. Thread-safe.
    void freeLater(Tensor tensor);
    /// Frees the tensors passed to freeLater(). Call this on this rank's thread, or after all other threads have
    /// stopped using the queue.
    void freeReturned();
    /// Peak device memory of the rank, for stages and transfers.
    [[nodiscard]] std::int64_t peakBytes() const;
    [[nodiscard]] std::int64_t reservedBytes() const;

private:
    struct Marks {
        Accelerator::Event begin = nullptr;
        Accelerator::Event end = nullptr;
        std::shared_ptr<const DeviceArrival> arrival; ///< owns these events, unless the queue does
        TimeNs latency{0};                            ///< added to the end
    };
    struct OpMarks {
        Marks op;
        std::vector<Marks> transfers;
        std::vector<Marks> sums;
    };
    /// The current op.
    struct Current {
        std::uint64_t key = 0;
        std::optional<TimeNs> nominal;
        int sums = 0; ///< number of sums in the op
    };
    /// For incoming transfers in one direction, or of parts of sums; such transfers run one after another.
    struct Incoming {
        explicit Incoming(Accelerator& device)
            : stream(device.makeStream(Accelerator::Priority::Urgent)), memory(device, stream),
              begin_stamp(memory.take(sizeof(std::uint64_t))) {}
        Accelerator::Stream stream;
        MemoryPool memory;
        Buffer begin_stamp;
    };

    [[nodiscard]] Accelerator::Event mark(Accelerator::Stream stream);
    /// Makes the work queued next wait for data from another process.
    void await(DeviceArray& array, std::optional<TimeNs> latency);
    /// Queues a copy of another rank's tensor into memory of this rank; the caller must wait for the copy.
    [[nodiscard]] Buffer copyFrom(DeviceArray& sent, Incoming& way);
    /// The part of the op's nominal time before its n-th sum; the complete nominal time after the last sum.
    [[nodiscard]] TimeNs shareBefore(std::size_t sum) const;
    /// Copies other ranks' parts into this rank's memory.
    void gather(std::vector<Tensor>& parts, std::optional<TimeNs> latency);

    std::shared_ptr<DeviceTime> time_;
    std::vector<NamedStream> streams_;
    std::array<Incoming, 2> incoming_; ///< by direction
    Incoming parts_;                   ///< for parts of sums
    Accelerator::Event gathered_;      ///< reached when the parts of the last sum have arrived
    Buffer begin_stamp_;               ///< start time of the op, or of the work after its last sum
    std::optional<Current> current_;
    std::vector<Accelerator::Event> marks_; ///< timed events, reused in each step
    std::size_t marks_used_ = 0;
    std::vector<Marks> received_; ///< transfers for the next op
    std::vector<OpMarks> ops_;
    std::int64_t steps_ = 0;
    std::optional<std::size_t> ahead_;
    std::mutex returned_mutex_;
    std::vector<Tensor> returned_;               ///< tensors to be freed by this rank's thread
    std::vector<Accelerator::Event> hand_overs_; ///< unused events
    bool times_hand_overs_ = false;
    std::unique_ptr<WorkQueue> checks_; ///< null if the run has no checks
    bool in_check_ = false;
    Buffer step_stamp_;
    Buffer check_stamp_;
    Accelerator::Event step_mark_ = nullptr;
    std::array<Accelerator::Event, 2> check_marks_{}; ///< start and end of the last check
    Accelerator::Event checked_from_ = nullptr;       ///< the event that a check waits for
};

} // namespace bubblescope::runtime
