#pragma once

#include "runtime/accelerator/accelerator.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

class MemoryPool;

/// Memory of a pool, handed back at the end of its life. Only its address is known at once: work on it is queued.
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
    /// The stream whose work uses it last; that of the pool if nothing is said.
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

/// Memory for the work of one stream, its home. Freed memory is used again without waiting for the device: what comes
/// next on the home stream runs after what used it there, and where another stream used it last the home stream is made
/// to wait for that one. So that it need not wait long, some such memory is left alone, the oldest of which is used
/// when there is more. Since training asks for the same sizes step after step, the device is asked for memory in the
/// first steps only. A device that shares the host's memory gets freed memory back at once.
///
/// Buffers may be freed by any thread; take() is for the thread that feeds the home stream.
class MemoryPool {
public:
    /// `spare`: how much memory of each size is left alone while other streams may still use it.
    MemoryPool(Accelerator& device, Accelerator::Stream home, std::size_t spare = 4)
        : device_(device), home_(home), spare_(spare) {}
    MemoryPool(const MemoryPool&) = delete;
    MemoryPool& operator=(const MemoryPool&) = delete;
    /// All buffers must be back and the device done with them.
    ~MemoryPool();

    /// Nothing for 0 bytes.
    [[nodiscard]] Buffer take(std::int64_t bytes);

    /// Bytes asked for and not freed, now and at most so far.
    [[nodiscard]] std::int64_t inUse() const;
    [[nodiscard]] std::int64_t peak() const;
    /// Bytes that the device gave; at least the peak.
    [[nodiscard]] std::int64_t reserved() const;

private:
    friend class Buffer;
    struct Busy {
        void* data;
        Accelerator::Event until;
    };
    struct Free {
        std::vector<void*> own;  ///< the home stream's order is enough
        std::deque<Busy> others; ///< other streams use it until …; oldest first
    };

    void giveBack(Buffer& buffer) noexcept;
    [[nodiscard]] void* allocate(std::int64_t capacity);
    void trim();

    Accelerator& device_;
    Accelerator::Stream home_;
    std::size_t spare_;
    mutable std::mutex mutex_;
    std::map<std::int64_t, Free> free_;      ///< by capacity
    std::vector<Accelerator::Event> events_; ///< to be used again
    std::int64_t in_use_ = 0;
    std::int64_t peak_ = 0;
    std::int64_t reserved_ = 0;
};

} // namespace bubblescope::runtime
