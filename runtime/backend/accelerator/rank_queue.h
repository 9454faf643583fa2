#pragma once

#include "runtime/accelerator/device_digest.h"
#include "runtime/backend/accelerator/device_time.h"
#include "runtime/backend/rank_device.h"
#include "runtime/model/compute_queue.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace bubblescope::runtime {

class QueuedArray;

/// When something came here from another process: two timed events on the stream that received it.
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
    Accelerator::Event begin; ///< the receiver was ready for it
    Accelerator::Event end;   ///< it was there
    Buffer stamp;             ///< 8 bytes with the device's time of the end; only on paced runs
};

/// What one rank has of an accelerator: a stream to compute on, one for what it receives in each direction, and memory
/// for them. Several ranks may share a device; a transfer between them is a copy from one's memory to the other's that
/// the receiving rank's stream makes as soon as the sender has computed it, while both compute on. What comes from
/// another process is there already, or queued to come. Nothing here waits for the device but finishOps() and, where
/// limitAhead() asks for it, waitForRoom().
class RankQueue final : public RankDevice, public ComputeQueue, public std::enable_shared_from_this<RankQueue> {
public:
    /// Ranks on one device share its `time`.
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

    /// From now on the host queues at most that many ops beyond the one that the device is at. Where peers are other
    /// processes nothing else keeps the host from queueing a whole step, with memory for all of its transfers.
    void limitAhead(std::size_t ops) { ahead_ = ops; }

    // Checks.
    void prepareChecks() override;
    [[nodiscard]] TimeNs stepBegan() override;
    void holdSinceStep(TimeNs length) override;
    [[nodiscard]] std::optional<TimeNs> finishSoFar() override;
    [[nodiscard]] Span runCheck(std::optional<TimeNs> nominal, const std::function<void()>& work) override;
    [[nodiscard]] bool arrived(const Tensor& tensor, std::optional<TimeNs> latency, TimeNs now) override;
    [[nodiscard]] std::shared_ptr<const LateTensor> adopt(std::shared_ptr<const LateTensor> note) override;

    // For the rank's stages.
    /// What checks are queued on; there from prepareChecks() on.
    [[nodiscard]] WorkQueue& checks() override { return *checks_; }
    /// Inside runCheck() that of checks, else the rank's own.
    [[nodiscard]] WorkQueue& current() override { return in_check_ ? *checks_ : static_cast<WorkQueue&>(*this); }
    [[nodiscard]] std::unique_ptr<LiveTensor> live(WorkQueue& on, void* data, std::int64_t count,
                                                   Storage storage) override;
    [[nodiscard]] Tensor give(Buffer buffer, std::int64_t rows, std::int64_t columns, Storage storage) override;
    [[nodiscard]] Buffer take(Tensor tensor, std::int64_t rows, std::int64_t columns, Storage storage) override;
    [[nodiscard]] const void* valuesOf(const Tensor& tensor, std::int64_t rows, std::int64_t columns,
                                       Storage storage) override;
    [[nodiscard]] DigestPages& digests() { return digests_; }
    /// Whether it must be known when what is handed over was ready.
    [[nodiscard]] bool timesHandOvers() const { return checks_ != nullptr; }
    /// Nobody is going to ask for the times of the ops so far.
    void forgetOps() {
        ops_.clear();
        received_.clear();
    }
    /// Device memory of the rank: what stages hold and what is in transfer.
    [[nodiscard]] std::int64_t peakBytes() const;
    [[nodiscard]] std::int64_t reservedBytes() const;

private:
    struct Marks {
        Accelerator::Event begin = nullptr;
        Accelerator::Event end = nullptr;
        std::shared_ptr<const DeviceArrival> arrival; ///< whose events these are, if not the queue's
        TimeNs latency{0};                            ///< that is added to the end
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
        int sums = 0; ///< that it is going to have
    };
    /// The way in for one direction, or for parts of sums: its transfers follow each other.
    struct Incoming {
        explicit Incoming(Accelerator& device)
            : stream(device.makeStream()), memory(device, stream), begin_stamp(memory.take(sizeof(std::uint64_t))) {}
        Accelerator::Stream stream;
        MemoryPool memory;
        Buffer begin_stamp;
    };

    [[nodiscard]] Accelerator::Event mark(Accelerator::Stream stream);
    /// What is queued next waits for what came from another process.
    void await(QueuedArray& array, std::optional<TimeNs> latency);
    /// Memory of this rank with what another one handed over: a copy that is queued, and must be waited for.
    [[nodiscard]] Buffer copyFrom(QueuedArray& sent, Incoming& way);
    /// Of the op's nominal time, what lies before its n-th sum, or all of it behind the last.
    [[nodiscard]] TimeNs shareBefore(std::size_t sum) const;
    /// Other parts than this rank's own become this rank's.
    void gather(std::vector<Tensor>& parts, std::optional<TimeNs> latency);

    std::shared_ptr<DeviceTime> time_;
    std::array<Incoming, 2> incoming_; ///< by direction
    Incoming parts_;                   ///< of sums
    Accelerator::Event gathered_;      ///< the last sum's parts are there
    Buffer begin_stamp_;               ///< of the op, or of what follows its last sum
    std::optional<Current> current_;
    std::vector<Accelerator::Event> marks_; ///< timed events, used again step after step
    std::size_t marks_used_ = 0;
    std::vector<Marks> received_; ///< for the next op
    std::vector<OpMarks> ops_;
    std::int64_t steps_ = 0;
    std::optional<std::size_t> ahead_;
    DigestPages digests_;
    std::unique_ptr<WorkQueue> checks_; ///< null where nothing is checked
    bool in_check_ = false;
    Buffer step_stamp_;
    Buffer check_stamp_;
    Accelerator::Event step_mark_ = nullptr;
    std::array<Accelerator::Event, 2> check_marks_{}; ///< begin and end of the last one
    Accelerator::Event checked_from_ = nullptr;       ///< what a check waits for
};

/// A tensor on an accelerator: a row per token, or one column of gradients.
class QueuedArray final : public DeviceArray {
public:
    QueuedArray(std::shared_ptr<RankQueue> queue, Buffer buffer, std::int64_t rows, std::int64_t cols, Storage storage);
    ~QueuedArray() override;

    [[nodiscard]] std::int64_t rows() const override { return rows_; }
    [[nodiscard]] std::int64_t cols() const override { return cols_; }
    [[nodiscard]] std::int64_t bytes() const override { return buffer_.bytes(); }
    [[nodiscard]] std::unique_ptr<DeviceArray> clone() const override;
    /// Of gradients.
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

    /// From another process; nullptr if it was made here.
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

/// What `tensor` holds; it must be on an accelerator.
[[nodiscard]] QueuedArray& queuedArray(const Tensor& tensor);

} // namespace bubblescope::runtime
