#pragma once

#include "runtime/accelerator/accelerator.h"
#include "runtime/accelerator/recurring_batches.h"

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

/// Sees what an emulated device is given and what it runs, as a profiler does.
class DeviceObserver {
public:
    enum class Kind : std::uint8_t { Kernel, Copy, Set };
    struct Work {
        Kind kind = Kind::Kernel;
        const char* name = ""; ///< of a kernel
        std::int64_t bytes = 0;
        std::uint32_t call = 0; ///< what called() returned for its launch
        bool in_graph = false;
        void* stream = nullptr; ///< see Accelerator::nativeStream()
        TimeNs begin{0};        ///< on the device's clock
        TimeNs end{0};
    };

    virtual ~DeviceObserver() = default;
    /// The calling thread launches work of this kind, or a graph. Returns a number for the call.
    [[nodiscard]] virtual std::uint32_t called(Kind kind, bool graph) = 0;
    virtual void ran(const Work& work) = 0;
    /// It is this time on the device's clock, and nothing runs.
    virtual void idleAt(TimeNs now) = 0;
};

/// An accelerator on the host, to test what feeds one. Work is kept until somebody waits for it and then done in an
/// order drawn at random among those that streams and events allow, so that a forgotten event, or memory used again too
/// early, gives other numbers. New memory is full of NaN.
///
/// A batch is queued as a whole when it ends, or when something is called that cannot be part of it. As on a GPU that
/// gathers a graph, only the thread that began the batch may use the stream meanwhile: any other call breaks the
/// device, which every later wait reports.
///
/// Its time is made up: work takes none, but for copies from rank to rank and for holds, and what the fields below say.
/// So the times of a run follow from the schedule alone.
class EmulatedDevice : public Accelerator {
public:
    explicit EmulatedDevice(unsigned seed);
    ~EmulatedDevice() override;

    TimeNs copy_time{0};
    TimeNs kernel_time{0};
    TimeNs launch_time{0}; ///< of the host's, for each call: work of a stream begins no sooner than it was launched
    bool graphs = false;   ///< whether observers see a batch as a graph
    bool fuses_attention = true;
    std::shared_ptr<DeviceObserver> observer;
    /// allocate() fails beyond this.
    std::int64_t capacity = std::int64_t{1} << 40;
    /// Whether others may yet queue what a stream waits for, as the threads of ranks do that have links between them.
    /// Else a device that cannot go on says so.
    bool fed_by_others = false;
    /// Products load their code when they are first used, as a GPU's library does. If a transfer of the same thread's
    /// streams is waiting for its peer on the device then, the load waits for it: the device reports the deadlock.
    bool loads_lazily = false;
    /// Whether it has been broken, and by what.
    [[nodiscard]] std::string broken() const;

    /// Work that ends when `over` returns true. From the work's turn on, `over` is called again and again; it receives
    /// the stream's time and may advance it.
    using Over = std::function<bool(TimeNs&)>;
    void submitUntil(Over over, Stream stream);
    /// To be called when a condition of `over` has changed.
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
    void attend(const FusedAttention& attention, Stream stream) override;
    void attendBackward(const FusedAttentionGradient& attention, Stream stream) override;
#define BUBBLESCOPE_LAUNCH(Kernel) void launch(const Kernel& kernel, Stream stream) override;
    BUBBLESCOPE_KERNELS(BUBBLESCOPE_LAUNCH)
#undef BUBBLESCOPE_LAUNCH

    // The current content.
    [[nodiscard]] int streams() const;
    [[nodiscard]] int streams(Priority priority) const;
    /// Blocks that were reserved for transfers.
    [[nodiscard]] int room() const {
        return room_;
    }
    [[nodiscard]] int events() const;
    [[nodiscard]] std::int64_t allocated() const;
    /// How often memory was asked for.
    [[nodiscard]] std::int64_t allocations() const;
    /// How often somebody waited for the device.
    [[nodiscard]] std::int64_t hostWaits() const;
    [[nodiscard]] std::int64_t batches() const;
    /// How many batches, or parts of them between calls that cannot be in one, were not the same as an earlier one of
    /// their stream and key: a GPU makes these one by one, and captures them when they come again.
    [[nodiscard]] std::int64_t capturedBatches() const;
    /// For every stream and key of its batches, how many different lists of calls they held.
    [[nodiscard]] std::vector<std::size_t> batchShapes() const;

private:
    struct EmulatedStream;
    struct EmulatedEvent;

    [[nodiscard]] static EmulatedStream* own(Stream stream);
    [[nodiscard]] static EmulatedEvent* own(Event event);
    void submit(Stream on, std::function<void(EmulatedStream&)> work, Event event = nullptr);
    /// As submit(), of work that observers see. `in_batch`: it can be part of a batch.
    void submitCall(Stream on, DeviceObserver::Work what, bool in_batch, std::function<void(EmulatedStream&)> work,
                    const std::function<void(BatchCalls&)>& note = {});
    template <class Arguments>
    void submitKernel(Stream on, const char* name, const Arguments& arguments, std::function<void()> compute);
    /// When the host has launched one more piece of work for the stream. The lock is held.
    TimeNs launched(EmulatedStream& stream) const;
    /// Queues the work that a batch has collected. The lock is held.
    void launchBatch(EmulatedStream& stream);
    /// Breaks the device if another thread gathers a batch of the stream. The lock is held.
    void refuseStrangers(const EmulatedStream& stream);
    void breakDown(const char* why);
    /// The code of a product is loaded for those streams that one thread made. The lock is held.
    void load(const EmulatedStream& stream, const std::string& code);
    /// Does one task that is possible now; false if there is none. The lock is held.
    bool workOnce();
    /// The lock is held.
    void workUntil(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done);

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::mt19937 random_;
    std::vector<std::unique_ptr<EmulatedStream>> streams_;
    std::vector<std::unique_ptr<EmulatedEvent>> events_; ///< kept to the end: tasks may still name them
    std::map<void*, std::int64_t> memory_;
    std::int64_t allocations_ = 0;
    std::int64_t host_waits_ = 0;
    std::int64_t batches_ = 0;
    std::int64_t captured_batches_ = 0;
    std::string broken_;
    std::set<std::pair<std::thread::id, std::string>> loaded_;
    std::atomic<int> room_{0};
    std::map<std::pair<const EmulatedStream*, std::uint64_t>, std::set<std::string>> shapes_;
    TimeNs now_{0}; ///< nothing submitted from now on begins earlier
};

} // namespace bubblescope::runtime::test
