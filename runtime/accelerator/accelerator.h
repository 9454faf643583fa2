#pragma once

#include "core/base/result.h"
#include "core/base/time.h"
#include "runtime/accelerator/kernels/all.h"
#include "runtime/accelerator/kernels/attention.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace bubblescope::runtime {

enum class Storage : std::uint8_t { Float, Bf16 };

[[nodiscard]] constexpr std::int64_t bytesOf(Storage storage) {
    return storage == Storage::Float ? 4 : 2;
}

/// A column-major matrix: a factor or the result of a product.
struct GemmMatrix {
    void* data = nullptr;
    std::int64_t leading = 0; ///< elements from the start of one column to the next
    std::int64_t stride = 0;  ///< elements from the start of one matrix of a batch to the next
    bool transposed = false;  ///< factors only
};

/// result = scale · a · b (+ added) (+ bias per row), for each product of a batch; sums are in float. After
/// transposition, a is rows × inner and b is inner × columns.
struct Gemm {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t inner = 0;
    Storage in = Storage::Float;  ///< storage of a and b
    Storage out = Storage::Float; ///< storage of the result and the bias
    GemmMatrix a;
    GemmMatrix b;
    GemmMatrix result;
    const void* bias = nullptr; ///< one value per row of the result
    /// A matrix with the result's layout, storage and alignment; may be the result itself; null = none.
    const void* added = nullptr;
    float scale = 1.0F;
    int batch = 1;
};

/// The device on which stages compute. The device may work asynchronously through queues, as a GPU does: calls queue
/// work on a stream and return immediately. A stream executes its work in order; streams run concurrently. An event
/// marks a position in a stream; a stream can wait for an event recorded earlier.
///
/// Implementations: CUDA (runtime/backend/cuda), the CPU (runtime/backend/cpu), and an emulated GPU for tests.
/// Thread-safe unless two threads use the same stream or event at the same time. Failures are reported as exceptions.
class Accelerator {
public:
    /// Base classes of the implementations' streams and events.
    struct StreamState {};
    struct EventState {};
    using Stream = StreamState*;
    using Event = EventState*;

    virtual ~Accelerator() = default;

    /// True if the device's memory is host memory, which may be accessed directly, and all work is complete when a call
    /// returns.
    [[nodiscard]] virtual bool sharesHostMemory() const { return false; }

    /// The device's id, which stays the same after restarts; empty if the device has no id.
    [[nodiscard]] virtual std::string uuid() const { return {}; }

    /// Size of the device's memory in bytes; nothing if there is no separate limit.
    [[nodiscard]] virtual std::optional<std::int64_t> memory() const { return std::nullopt; }

    /// Reserves processors for transfers: products use fewer processors, so that `blocks` thread blocks of other
    /// libraries can run at the same time. Results do not change. Call this before the first product.
    virtual void leaveRoomFor(int /*blocks*/) {}

    /// Number of the device's processors; 0 if unknown.
    [[nodiscard]] virtual int processors() const { return 0; }
    /// Divides the device into equal parts: work on a part's streams runs only on that part's processors. Memory and
    /// events are shared, and results do not change. Error: Run, with the reason, if the device cannot be divided.
    [[nodiscard]] virtual Result<std::vector<std::shared_ptr<Accelerator>>> divide(int /*parts*/) {
        return runError("this device cannot be partitioned");
    }

    /// Must be called by every thread before any other function.
    virtual void bindThread() = 0;

    /// Returns memory aligned for any type. Does not wait for queued work, but is slow; see MemoryPool.
    [[nodiscard]] virtual void* allocate(std::int64_t bytes) = 0;
    virtual void release(void* memory) noexcept = 0;

    /// When the device is busy, work with lower priority yields. Transfers are urgent, because other ranks wait for
    /// them.
    enum class Priority : std::uint8_t { Urgent, Usual, Low };
    [[nodiscard]] virtual Stream makeStream(Priority priority) = 0;
    [[nodiscard]] Stream makeStream() { return makeStream(Priority::Usual); }
    virtual void destroy(Stream stream) noexcept = 0;
    /// The stream as a handle of the device's own library (a CUstream), for profilers; null if there is none.
    [[nodiscard]] virtual void* nativeStream(Stream /*stream*/) const { return nullptr; }
    /// Waits until all work on the stream is done.
    virtual void finish(Stream stream) = 0;

    /// `timed` is true if the event may be passed to elapsed().
    [[nodiscard]] virtual Event makeEvent(bool timed) = 0;
    virtual void destroy(Event event) noexcept = 0;
    virtual void record(Event event, Stream stream) = 0;
    virtual void wait(Stream stream, Event event) = 0;
    /// Waits until the event has been reached.
    virtual void finish(Event event) = 0;
    /// True if the event has already been reached.
    [[nodiscard]] virtual bool reached(Event event) = 0;
    /// The time between two timed events that have been reached.
    [[nodiscard]] virtual TimeNs elapsed(Event from, Event to) = 0;

    /// Copies within the device's memory.
    virtual void copy(void* to, const void* from, std::int64_t bytes, Stream stream) = 0;
    virtual void zero(void* memory, std::int64_t bytes, Stream stream) = 0;
    /// This function and the next wait until the copy is complete.
    virtual void copyIn(void* to, const void* host, std::int64_t bytes, Stream stream) = 0;
    virtual void copyOut(void* host, const void* from, std::int64_t bytes, Stream stream) = 0;

    /// Writes the device's current time into 8 bytes of device memory.
    virtual void stamp(std::uint64_t* at, Stream stream) = 0;
    /// Keeps the stream busy, with almost no load on the rest of the device, until `length` after the time that stamp()
    /// wrote to `since`.
    virtual void holdUntil(const std::uint64_t* since, TimeNs length, Stream stream) = 0;

    /// These two calls enclose work on the stream that recurs under the same key, often at the same addresses, so that
    /// a device can submit it as one unit and repeat it. Any function except beginBatch() may be called in between;
    /// results do not depend on batching.
    virtual void beginBatch(std::uint64_t key, Stream stream) = 0;
    virtual void endBatch(Stream stream) = 0;

    /// Results are bit-identical for equal shapes, storage and alignment.
    virtual void multiply(const Gemm& gemm, Stream stream) = 0;

    /// Tells the user which kernels compute fused attention and why they were chosen; empty if there is no choice.
    [[nodiscard]] virtual std::string attentionNote() const { return {}; }
    /// True if the functions below support heads of this width and storage.
    [[nodiscard]] virtual bool fusesAttention(Storage /*storage*/, std::int64_t /*width*/) const { return false; }
    /// Memory that these functions allocate for each stream on which they run, in bytes.
    [[nodiscard]] virtual std::int64_t attentionWorkspace(const AttentionSizes& /*sizes*/) const { return 0; }
    virtual void attend(const FusedAttention& /*attention*/, Stream /*stream*/) { refuseAttention(); }
    virtual void attendBackward(const FusedAttentionGradient& /*attention*/, Stream /*stream*/) { refuseAttention(); }

#define BUBBLESCOPE_LAUNCH(Kernel) virtual void launch(const Kernel& kernel, Stream stream) = 0;
    BUBBLESCOPE_KERNELS(BUBBLESCOPE_LAUNCH)
#undef BUBBLESCOPE_LAUNCH

private:
    [[noreturn]] static void refuseAttention() {
        throw std::logic_error("this device has no fused attention");
    }
};

} // namespace bubblescope::runtime
