#pragma once

#include "runtime/accelerator/accelerator.h"
#include "runtime/accelerator/work_queue.h"
#include "runtime/backend/rank_device.h"
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

/// Converts a device's events to host time, for all ranks on one device. Events only give the time between two of them.
/// So a reference event is recorded on an idle stream between two readings of the host's clock; of several tries the
/// one with the closest readings counts. This is repeated for every step, so that neither clock drift nor the coarse
/// resolution of long distances matters. All ranks use the same reference event, so that its error (some microseconds)
/// is the same for all of them.
class DeviceTime {
public:
    DeviceTime(Accelerator& device, HostClock& clock);
    DeviceTime(const DeviceTime&) = delete;
    DeviceTime& operator=(const DeviceTime&) = delete;
    ~DeviceTime();

    /// Makes a new reference unless there is one for this step. All ranks pass the same ascending step numbers, while
    /// no rank has work queued.
    void synchronise(std::int64_t step);

    /// The host time of an event that was reached after the reference was made. Thread-safe between calls of
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

class QueuedArray;

/// The arrival of data from another process: two timed events on the stream that received them.
struct DeviceArrival {
    explicit DeviceArrival(Accelerator& accelerator)
        : device(accelerator), begin(device.makeEvent(true)), end(device.makeEvent(true)) {}
    DeviceArrival(const DeviceArrival&) = delete;
    DeviceArrival& operator=(const DeviceArrival&) = delete;
    ~DeviceArrival() {
        device.destroy(begin);
        device.destroy(end);
    }

    Accelerator& device;
    Accelerator::Event begin; ///< the receiver was ready
    Accelerator::Event end;   ///< the data were there
    Buffer stamp;             ///< 8 bytes with the device's time of the end; only on paced runs
};

/// One rank's share of an accelerator: a stream for computations, one for incoming transfers in each direction, and
/// memory for them. Several ranks may share a device. A transfer between them is a copy that the receiving rank's
/// stream makes as soon as the sender has computed the tensor, while both continue to compute. A tensor from another
/// process has arrived already, or its transfer is queued. Only finishOps() and, after limitAhead(), waitForRoom() wait
/// for the device.
class RankQueue final : public RankDevice, public ComputeQueue, public std::enable_shared_from_this<RankQueue> {
public:
    /// Ranks on one device share `time`.
    RankQueue(std::shared_ptr<Accelerator> device, std::shared_ptr<DeviceTime> time);
    RankQueue(const RankQueue&) = delete;
    RankQueue& operator=(const RankQueue&) = delete;
    ~RankQueue() override;

    void bindThread() override { device().bindThread(); }
    void waitForRoom() override;
    void beginStep() override;
    [[nodiscard]] Tensor receive(Tensor tensor, Direction direction, std::optional<TimeNs> latency) override;
    void beginOp(std::uint64_t key, std::optional<TimeNs> nominal, int sums) override;
    void endOp() override;
    void beginSum() override;
    [[nodiscard]] Tensor addUp(std::vector<Tensor> parts, std::optional<TimeNs> latency) override;
    [[nodiscard]] Tensor handOver(Tensor tensor) override;
    [[nodiscard]] std::vector<OpTimes> finishOps() override;
    [[nodiscard]] std::vector<NamedStream> streams() const override { return streams_; }
    /// A stream beside the queue's own on which work for the rank runs: a link's. For this rank's thread, between
    /// steps.
    void addStream(const std::string& purpose, Accelerator::Stream stream);
    void removeStream(Accelerator::Stream stream);

    /// From now on the host queues at most `ops` ops beyond the one that the device executes. If peers are other
    /// processes, nothing else keeps the host from queueing a whole step, with memory for all its transfers.
    void limitAhead(std::size_t ops) { ahead_ = ops; }

    // Checks.
    void prepareChecks() override;
    [[nodiscard]] TimeNs stepBegan() override;
    void holdSinceStep(TimeNs length) override;
    [[nodiscard]] std::optional<TimeNs> finishSoFar() override;
    [[nodiscard]] Span runCheck(std::optional<TimeNs> nominal, const std::function<void()>& work) override;
    [[nodiscard]] bool arrived(const Tensor& tensor, std::optional<TimeNs> latency, TimeNs now) override;
    [[nodiscard]] std::shared_ptr<const LateTensor> adopt(std::shared_ptr<const LateTensor> note) override;

    // The interface to the rank's stages.
    /// The queue of checks; it exists after prepareChecks().
    [[nodiscard]] WorkQueue& checks() override { return *checks_; }
    /// The queue of checks inside runCheck(), else this queue.
    [[nodiscard]] WorkQueue& current() override { return in_check_ ? *checks_ : static_cast<WorkQueue&>(*this); }
    [[nodiscard]] std::unique_ptr<LiveTensor> live(WorkQueue& on, void* data, std::int64_t count,
                                                   Storage storage) override;
    [[nodiscard]] Tensor give(Buffer buffer, std::int64_t rows, std::int64_t columns, Storage storage) override;
    [[nodiscard]] Buffer take(Tensor tensor, std::int64_t rows, std::int64_t columns, Storage storage) override;
    [[nodiscard]] const void* valuesOf(const Tensor& tensor, std::int64_t rows, std::int64_t columns,
                                       Storage storage) override;
    [[nodiscard]] DigestPages& digests() { return digests_; }
    /// Whether the time at which a tensor was ready must be recorded.
    [[nodiscard]] bool timesHandOvers() const { return checks_ != nullptr; }
    /// Discards the ops so far, whose times nobody needs.
    void forgetOps() {
        ops_.clear();
        received_.clear();
    }
    /// An event for the hand-over of a tensor. Events are used again: drivers take long to make one, and to destroy it,
    /// while other threads launch kernels. Thread-safe.
    [[nodiscard]] Accelerator::Event takeHandOver();
    void returnHandOver(Accelerator::Event event);
    /// Keeps a tensor that another thread has done with until this rank's thread frees its memory, which this rank's
    /// stream may have used last: only this thread may submit work there. Thread-safe.
    void freeLater(Tensor tensor);
    /// Frees these tensors. For this rank's thread, or when no other one uses the queue any more.
    void freeReturned();
    /// The largest amount of device memory in use by the rank: for stages and transfers.
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
    /// The op that has begun.
    struct Current {
        std::uint64_t key = 0;
        std::optional<TimeNs> nominal;
        int sums = 0; ///< number of sums that it will have
    };
    /// The incoming path of one direction, or of parts of sums: its transfers are sequential.
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
    void await(QueuedArray& array, std::optional<TimeNs> latency);
    /// Queues a copy of another rank's tensor into memory of this rank; the copy must be waited for.
    [[nodiscard]] Buffer copyFrom(QueuedArray& sent, Incoming& way);
    /// The part of the op's nominal time before its n-th sum, or all of it after the last.
    [[nodiscard]] TimeNs shareBefore(std::size_t sum) const;
    /// Copies the parts of other ranks into this rank's memory.
    void gather(std::vector<Tensor>& parts, std::optional<TimeNs> latency);

    std::shared_ptr<DeviceTime> time_;
    std::vector<NamedStream> streams_;
    std::array<Incoming, 2> incoming_; ///< by direction
    Incoming parts_;                   ///< for parts of sums
    Accelerator::Event gathered_;      ///< the parts of the last sum have arrived
    Buffer begin_stamp_;               ///< at the begin of the op, or of what follows its last sum
    std::optional<Current> current_;
    std::vector<Accelerator::Event> marks_; ///< timed events, reused in each step
    std::size_t marks_used_ = 0;
    std::vector<Marks> received_; ///< transfers for the next op
    std::vector<OpMarks> ops_;
    std::int64_t steps_ = 0;
    std::optional<std::size_t> ahead_;
    std::mutex returned_mutex_;
    std::vector<Tensor> returned_;               ///< to be freed by this rank's thread
    std::vector<Accelerator::Event> hand_overs_; ///< that are not in use
    DigestPages digests_;
    std::unique_ptr<WorkQueue> checks_; ///< null if the run has no checks
    bool in_check_ = false;
    Buffer step_stamp_;
    Buffer check_stamp_;
    Accelerator::Event step_mark_ = nullptr;
    std::array<Accelerator::Event, 2> check_marks_{}; ///< begin and end of the last check
    Accelerator::Event checked_from_ = nullptr;       ///< the event that a check waits for
};

/// A tensor on an accelerator: a row per token, or a column of gradients.
class QueuedArray final : public DeviceArray {
public:
    QueuedArray(std::shared_ptr<RankQueue> queue, Buffer buffer, std::int64_t rows, std::int64_t cols, Storage storage);
    ~QueuedArray() override;

    [[nodiscard]] std::int64_t rows() const override { return rows_; }
    [[nodiscard]] std::int64_t cols() const override { return cols_; }
    [[nodiscard]] std::int64_t bytes() const override { return buffer_.bytes(); }
    [[nodiscard]] std::unique_ptr<DeviceArray> clone() const override;
    /// For gradients.
    void add(const DeviceArray& other) override;
    [[nodiscard]] HostMatrix toHost() const override;
    [[nodiscard]] std::unique_ptr<LiveTensor> live() override;

    [[nodiscard]] const std::shared_ptr<RankQueue>& queue() const { return queue_; }
    [[nodiscard]] Storage storage() const { return storage_; }
    [[nodiscard]] Buffer& buffer() { return buffer_; }
    [[nodiscard]] const Buffer& buffer() const { return buffer_; }
    /// When it may be read elsewhere; nullptr before it is handed over.
    [[nodiscard]] Accelerator::Event ready() const { return ready_; }
    void markReady();

    /// Its arrival from another process; nullptr if it was computed here.
    [[nodiscard]] const std::shared_ptr<const DeviceArrival>& arrival() const { return arrival_; }
    void cameBy(std::shared_ptr<const DeviceArrival> arrival) { arrival_ = std::move(arrival); }

private:
    std::shared_ptr<RankQueue> queue_;
    Buffer buffer_;
    std::int64_t rows_;
    std::int64_t cols_;
    Storage storage_;
    Accelerator::Event ready_ = nullptr;
    std::shared_ptr<const DeviceArrival> arrival_;
};

/// The content of `tensor`, which must be on an accelerator.
[[nodiscard]] QueuedArray& queuedArray(const Tensor& tensor);

} // namespace bubblescope::runtime
