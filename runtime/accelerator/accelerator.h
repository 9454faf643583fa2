#pragma once

#include "core/base/time.h"
#include "runtime/accelerator/gemm.h"
#include "runtime/accelerator/kernels/all.h"

#include <cstdint>
#include <string>

namespace bubblescope::runtime {

/// Where stages compute: a device that may work through queues of its own, as a GPU does. Calls queue work on a
/// stream and return; a stream does its work in order, streams run side by side. An event marks a place in a stream,
/// and a stream can be made to wait for an event, which must have been recorded before.
///
/// Implementations are CUDA (runtime/backend/cuda), the processor (runtime/backend/cpu) and an emulated GPU for tests.
/// Thread-safe as long as no two threads use one stream or event at the same time. Failures are exceptions.
class Accelerator {
public:
    /// Implementations derive theirs.
    struct StreamState {};
    struct EventState {};
    using Stream = StreamState*;
    using Event = EventState*;

    virtual ~Accelerator() = default;

    /// Whether its memory is the host's, and work is done when a call returns: what it holds may be read and written as
    /// any other memory.
    [[nodiscard]] virtual bool sharesHostMemory() const { return false; }

    /// What names the device across restarts; empty where nothing does.
    [[nodiscard]] virtual std::string uuid() const { return {}; }

    /// To be called by every thread before anything else.
    virtual void bindThread() = 0;

    /// Aligned for any use. Waits for nothing, but takes long: see MemoryPool.
    [[nodiscard]] virtual void* allocate(std::int64_t bytes) = 0;
    virtual void release(void* memory) noexcept = 0;

    /// Where a device has too much to do, work of low priority waits for the usual one.
    enum class Priority : std::uint8_t { Usual, Low };
    [[nodiscard]] virtual Stream makeStream(Priority priority) = 0;
    [[nodiscard]] Stream makeStream() { return makeStream(Priority::Usual); }
    virtual void destroy(Stream stream) noexcept = 0;
    /// Waits until all work of the stream is done.
    virtual void finish(Stream stream) = 0;

    /// `timed`: elapsed() may be asked of it.
    [[nodiscard]] virtual Event makeEvent(bool timed) = 0;
    virtual void destroy(Event event) noexcept = 0;
    virtual void record(Event event, Stream stream) = 0;
    virtual void wait(Stream stream, Event event) = 0;
    /// Waits until the event's place is reached.
    virtual void finish(Event event) = 0;
    /// Whether it is reached already.
    [[nodiscard]] virtual bool reached(Event event) = 0;
    /// Of two timed events that were reached.
    [[nodiscard]] virtual TimeNs elapsed(Event from, Event to) = 0;

    /// From device to device.
    virtual void copy(void* to, const void* from, std::int64_t bytes, Stream stream) = 0;
    virtual void zero(void* memory, std::int64_t bytes, Stream stream) = 0;
    /// These two wait until the copy is done.
    virtual void copyIn(void* to, const void* host, std::int64_t bytes, Stream stream) = 0;
    virtual void copyOut(void* host, const void* from, std::int64_t bytes, Stream stream) = 0;

    /// Notes the device's time in 8 bytes of its memory.
    virtual void stamp(std::uint64_t* at, Stream stream) = 0;
    /// Keeps the stream busy, and next to nothing else of the device, until `length` after the time noted in `since`.
    virtual void holdUntil(const std::uint64_t* since, TimeNs length, Stream stream) = 0;

    /// What is queued on the stream from here to endBatch() comes again, under the same key, with other addresses: a
    /// device may take it as one piece of work. Anything may be called in between but another beginBatch(); what is
    /// computed is the same.
    virtual void beginBatch(std::uint64_t key, Stream stream) = 0;
    virtual void endBatch(Stream stream) = 0;

    /// The same numbers for the same shapes, storage and alignment, bit for bit.
    virtual void multiply(const Gemm& gemm, Stream stream) = 0;
#define BUBBLESCOPE_LAUNCH(Kernel) virtual void launch(const Kernel& kernel, Stream stream) = 0;
    BUBBLESCOPE_KERNELS(BUBBLESCOPE_LAUNCH)
#undef BUBBLESCOPE_LAUNCH
};

} // namespace bubblescope::runtime
