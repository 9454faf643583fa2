#pragma once

#include "runtime/accelerator/accelerator.h"
#include "runtime/accelerator/recurring_batches.h"
#include "runtime/backend/cudnn/cudnn_attention.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bubblescope::runtime::test {

/// Observes the work that an emulated device receives and runs, like a profiler.
class DeviceObserver {
public:
    enum class Kind : std::uint8_t { Kernel, Copy, Set };
    struct Work {
        Kind kind = Kind::Kernel;
        const char* name = ""; ///< name of the kernel
        std::int64_t bytes = 0;
        std::uint32_t call = 0; ///< result of called() for its launch
        bool in_graph = false;
        void* stream = nullptr;                                        ///< see Accelerator::nativeStream()
        Accelerator::Priority priority = Accelerator::Priority::Usual; ///< of the stream
        TimeNs begin{0};                                               ///< on the clock of the device
        TimeNs end{0};
    };

    virtual ~DeviceObserver() = default;
    /// Called when the calling thread launches work of this kind, or a graph. Returns a number for the call.
    [[nodiscard]] virtual std::uint32_t called(Kind kind, bool graph) = 0;
    virtual void ran(const Work& work) = 0;
    /// Called when the device is idle at this time on its clock.
    virtual void idleAt(TimeNs now) = 0;
};

/// An accelerator on the host, for testing code that uses accelerators. Work is queued until someone waits for it, and
/// then runs in a random order that streams and events allow, so that a missing event, or memory reused too early,
/// changes the results. New memory is filled with NaN.
///
/// A batch is queued when it ends, or when a call cannot be part of it. As on a GPU that captures a graph, only the
/// thread that began the batch may use the stream in the meantime: any other call breaks the device, which every later
/// wait reports.
///
/// Times are simulated: work takes no time, except for copies between ranks, holds, and the durations in the fields
/// below. The times of a run therefore depend only on the schedule.
class EmulatedDevice : public Accelerator {
public:
    explicit EmulatedDevice(unsigned seed);
    ~EmulatedDevice() override;

    TimeNs copy_time{0};
    TimeNs kernel_time{0};
    TimeNs launch_time{0}; ///< host time per call: work on a stream does not start before it was launched
    /// Hardware queues, which streams share in turn; 0 = one per stream. Work starts after all work that was submitted
    /// to its queue before, also on other streams. A GPU has 8 by default (CUDA_DEVICE_MAX_CONNECTIONS).
    std::size_t queues = 0;
    bool graphs = false; ///< true if observers see a batch as a graph
    bool fuses_attention = true;
    std::shared_ptr<CudnnAttention> cudnn; ///< computes attention, where it can, if not null
    std::shared_ptr<DeviceObserver> observer;
    /// allocate() fails above this limit.
    std::int64_t capacity = std::int64_t{1} << 40;
    /// True if other threads may queue the work that a stream waits for, such as threads of connected ranks. If false,
    /// a device that cannot continue reports an error.
    bool fed_by_others = false;
    /// True if products load their code on first use, like a GPU library. If a transfer of the thread's streams is then
    /// waiting for its peer, the load waits for that transfer, and the device reports the deadlock.
    bool loads_lazily = false;
    /// Reason why the device is broken; empty if it is not.
    [[nodiscard]] std::string broken() const;

    /// Work that ends when `over` returns true. When the work is at the front of its stream, `over` is called
    /// repeatedly; it receives the time of the stream and may advance it.
    using Over = std::function<bool(TimeNs&)>;
    void submitUntil(Over over, Stream stream);
    /// Must be called when a condition of `over` has changed.
    void wake();

    [[nodiscard]] std::optional<std::int64_t> memory() const override { return capacity; }
    void leaveRoomFor(int blocks) override { room_ = blocks; }
    void bindThread() override {}
    [[nodiscard]] void* allocate(std::int64_t bytes) override;
    void release(void* memory) noexcept override;
    using Accelerator::makeStream;
    [[nodiscard]] Stream makeStream(Priority priority) override;
    void destroy(Stream stream) noexcept override;
    [[nodiscard]] void* nativeStream(Stream stream) const override { return stream; }
    void finish(Stream stream) override;
    [[nodiscard]] Event makeEvent(bool timed) override;
    void destroy(Event event) noexcept override;
    void record(Event event, Stream stream) override;
    void wait(Stream stream, Event event) override;
    void finish(Event event) override;
    [[nodiscard]] bool reached(Event event) override;
    [[nodiscard]] TimeNs elapsed(Event from, Event to) override;
    void copy(void* to, const void* from, std::int64_t bytes, Stream stream) override;
    void zero(void* memory, std::int64_t bytes, Stream stream) override;
    void copyIn(void* to, const void* host, std::int64_t bytes, Stream stream) override;
    void copyOut(void* host, const void* from, std::int64_t bytes, Stream stream) override;
    void stamp(std::uint64_t* at, Stream stream) override;
    void holdUntil(const std::uint64_t* since, TimeNs length, Stream stream) override;
    void beginBatch(std::uint64_t key, Stream stream) override;
    void endBatch(Stream stream) override;
    void multiply(const Gemm& gemm, Stream stream) override;
    [[nodiscard]] bool fusesAttention(Storage storage, std::int64_t width) const override {
        return fuses_attention && storage == Storage::Bf16 && fusedWidth(width);
    }
    [[nodiscard]] std::int64_t attentionWorkspace(const AttentionSizes& sizes) const override {
        return cudnn ? CudnnAttention::workspaceOf(sizes) : 0;
    }
    void attend(const FusedAttention& attention, Stream stream) override;
    void attendBackward(const FusedAttentionGradient& attention, Stream stream) override;
#define BUBBLESCOPE_LAUNCH(Kernel) void launch(const Kernel& kernel, Stream stream) override;
    BUBBLESCOPE_KERNELS(BUBBLESCOPE_LAUNCH)
#undef BUBBLESCOPE_LAUNCH

    // Current contents of the device.
    [[nodiscard]] int streams() const;
    [[nodiscard]] int streams(Priority priority) const;
    /// Number of blocks reserved for transfers.
    [[nodiscard]] int room() const {
        return room_;
    }
    [[nodiscard]] int events() const;
    [[nodiscard]] std::int64_t allocated() const;
    /// Number of allocations so far.
    [[nodiscard]] std::int64_t allocations() const;
    /// Number of waits for the device so far.
    [[nodiscard]] std::int64_t hostWaits() const;
    [[nodiscard]] std::int64_t batches() const;
    /// Number of batches, or parts of batches between calls that cannot be in a batch, that differ from all earlier
    /// ones of their stream and key. A GPU runs these individually, and captures them when they recur.
    [[nodiscard]] std::int64_t capturedBatches() const;
    /// Number of distinct lists of calls, for each stream and key of its batches.
    [[nodiscard]] std::vector<std::size_t> batchShapes() const;

private:
    struct EmulatedStream;
    struct EmulatedEvent;

    [[nodiscard]] static EmulatedStream* own(Stream stream);
    /// cuDNN for a stream; null if it does not compute this attention.
    [[nodiscard]] CudnnAttention::Queue* cudnnFor(const AttentionSizes& sizes, Stream stream);
    [[nodiscard]] static EmulatedEvent* own(Event event);
    void submit(Stream on, std::function<void(EmulatedStream&)> work, Event event = nullptr);
    /// True if work on other streams of the hardware queue was submitted before the stream's next work. Requires the
    /// lock.
    [[nodiscard]] bool isBehindOthers(const EmulatedStream& stream) const;
    /// Like submit(), for work that observers see. `in_batch` is true if the work can be part of a batch.
    void submitCall(Stream on, DeviceObserver::Work what, bool in_batch, std::function<void(EmulatedStream&)> work,
                    const std::function<void(BatchCalls&)>& note = {});
    template <class Arguments>
    void submitKernel(Stream on, const char* name, const Arguments& arguments, std::function<void()> compute);
    /// Time when the host has launched another piece of work for the stream. Requires the lock.
    TimeNs launched(EmulatedStream& stream) const;
    /// Queues the work that a batch has collected. Requires the lock.
    void launchBatch(EmulatedStream& stream);
    /// Breaks the device if another thread records a batch of the stream. Requires the lock.
    void refuseStrangers(const EmulatedStream& stream);
    void breakDown(const char* why);
    /// Loads the code of a product for the streams of one thread. Requires the lock.
    void load(const EmulatedStream& stream, const std::string& code);
    /// Runs one task that is ready; returns false if there is none. Requires the lock.
    bool workOnce();
    /// Requires the lock.
    void workUntil(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done);

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::mt19937 random_;
    std::vector<std::unique_ptr<EmulatedStream>> streams_;
    std::uint64_t submitted_ = 0;                        ///< number of tasks so far
    std::map<std::size_t, TimeNs> queue_starts_;         ///< start of the last work, by hardware queue
    std::vector<std::unique_ptr<EmulatedEvent>> events_; ///< not freed before the end, because tasks may refer to them
    std::map<void*, std::int64_t> memory_;
    std::int64_t allocations_ = 0;
    std::int64_t host_waits_ = 0;
    std::int64_t batches_ = 0;
    std::int64_t captured_batches_ = 0;
    std::string broken_;
    std::set<std::pair<std::thread::id, std::string>> loaded_;
    std::atomic<int> room_{0};
    std::map<std::pair<const EmulatedStream*, std::uint64_t>, std::set<std::string>> shapes_;
    TimeNs now_{0}; ///< earliest start of work that is submitted later
};

} // namespace bubblescope::runtime::test
