#pragma once

#include "runtime/accelerator/accelerator.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

class MemoryPool;

/// Memory taken from a pool; the destructor returns it. The memory's address is valid immediately, but its content only
/// after the queued work is done.
class Buffer {
public:
    Buffer() = default;
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        Buffer(std::move(other)).swap(*this);
        return *this;
    }
    ~Buffer();

    [[nodiscard]] bool empty() const { return data_ == nullptr; }
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }
    template <class T>
    [[nodiscard]] T* as() const {
        return static_cast<T*>(data_);
    }
    /// Another owner of the memory, which returns to the pool after the last one. The new owner must call usedOn() as
    /// well, unless its work on other streams is done, or covered by an owner that outlives it.
    [[nodiscard]] Buffer share() const;
    /// True if there are several owners. Code that would change the values then writes to other memory.
    [[nodiscard]] bool shared() const;
    /// Sets the last stream that uses the memory; the default is the pool's home stream.
    void usedOn(Accelerator::Stream stream) { last_ = stream; }

private:
    friend class MemoryPool;
    void swap(Buffer& other) noexcept {
        std::swap(pool_, other.pool_);
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        std::swap(last_, other.last_);
    }

    MemoryPool* pool_ = nullptr;
    void* data_ = nullptr;
    std::int64_t bytes_ = 0;
    Accelerator::Stream last_ = nullptr;
};

/// Memory for the work of one stream, the home stream. Freed memory is reused without waiting for the device. Later
/// work on the home stream runs after earlier work there; if another stream used the memory last, the home stream waits
/// for it. To keep that wait short, a few buffers freed on other streams stay unused; beyond that number, the oldest
/// buffer is reused. The lowest free address of a size is taken, so that recurring work finds its buffers at the same
/// addresses. Training needs the same sizes in every step, so device memory is allocated only in the first steps. On a
/// device that shares the host's memory, freed memory is released immediately.
///
/// Buffers may be freed by any thread that may submit work to the stream that used them last (but not while a graph is
/// recorded from that stream). Only the thread that submits work to the home stream may call take().
class MemoryPool {
public:
    /// `spare` is the number of buffers of each size that stay unused while other streams may still use them.
    MemoryPool(Accelerator& device, Accelerator::Stream home, std::size_t spare = 4)
        : device_(device), home_(home), spare_(spare) {}
    MemoryPool(const MemoryPool&) = delete;
    MemoryPool& operator=(const MemoryPool&) = delete;
    /// All buffers must have been returned, and all device work on them must be done.
    ~MemoryPool();

    /// Returns an empty buffer for 0 bytes.
    [[nodiscard]] Buffer take(std::int64_t bytes);

    /// Reclaims, without waiting, memory that other streams no longer use. Call this when no stream is busy, such as
    /// between steps, so that each step finds free memory at the same addresses.
    void settle();

    /// Bytes currently in use, rounded up to size classes; peak() is the maximum so far.
    [[nodiscard]] std::int64_t inUse() const;
    [[nodiscard]] std::int64_t peak() const;
    /// Bytes allocated from the device; at least the peak.
    [[nodiscard]] std::int64_t reserved() const;

private:
    friend class Buffer;
    struct Busy {
        void* data;
        Accelerator::Event until;
    };
    struct Free {
        std::set<void*> own;     ///< ordered by the home stream
        std::deque<Busy> others; ///< buffers in use by other streams until their events are reached; oldest first
    };

    /// Owners of the same buffer besides one, and the event that marks the end of former owners' work on other streams.
    struct Shares {
        int others = 0;
        Accelerator::Event until = nullptr; ///< null = none of them used another stream
    };

    void giveBack(Buffer& buffer) noexcept;
    /// Makes `until` mark the end of the stream's work so far, too; creates it if necessary.
    void recordUse(Accelerator::Event& until, Accelerator::Stream stream);
    [[nodiscard]] void* allocate(std::int64_t capacity);
    void trim();

    Accelerator& device_;
    Accelerator::Stream home_;
    std::size_t spare_;
    mutable std::mutex mutex_;
    std::map<std::int64_t, Free> free_;      ///< by size class
    std::map<const void*, Shares> shared_;   ///< by address
    std::vector<Accelerator::Event> events_; ///< unused, kept for reuse
    std::int64_t in_use_ = 0;
    std::int64_t peak_ = 0;
    std::int64_t reserved_ = 0;
};

} // namespace bubblescope::runtime
