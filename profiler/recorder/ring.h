#pragma once

#include "profiler/recorder/slice_record.h"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bubblescope::profiler {

/// A ring of records between one producing and one draining thread. The producer takes no lock, allocates
/// nothing and never waits: when the ring is full the new record is dropped and counted.
class RecordRing {
public:
    /// `capacity` is rounded up to a power of two.
    explicit RecordRing(std::size_t capacity) : slots_(std::bit_ceil(capacity)), mask_(slots_.size() - 1) {}
    RecordRing(const RecordRing&) = delete;
    RecordRing& operator=(const RecordRing&) = delete;

    /// Producer only. False when the record was dropped.
    bool push(const SliceRecord& record) noexcept {
        const std::uint64_t written = written_.load(std::memory_order_relaxed);
        if (written - read_seen_ == slots_.size()) {
            read_seen_ = read_.load(std::memory_order_acquire);
            if (written - read_seen_ == slots_.size()) {
                dropped_.fetch_add(1, std::memory_order_relaxed);
                return false;
            }
        }
        slots_[written & mask_] = record;
        written_.store(written + 1, std::memory_order_release);
        return true;
    }

    /// Drainer only: appends what is there to `out`, oldest first.
    void drain(std::vector<SliceRecord>& out) {
        const std::uint64_t end = written_.load(std::memory_order_acquire);
        std::uint64_t read = read_.load(std::memory_order_relaxed);
        out.reserve(out.size() + (end - read));
        for (; read != end; ++read)
            out.push_back(slots_[read & mask_]);
        read_.store(read, std::memory_order_release);
    }

    /// Any thread.
    [[nodiscard]] std::int64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::size_t capacity() const { return slots_.size(); }

private:
    static constexpr std::size_t kCacheLine = 64;

    std::vector<SliceRecord> slots_;
    std::uint64_t mask_;
    // The two sides write to different cache lines; the producer looks at the other one only when its
    // last view of it says that the ring is full.
    alignas(kCacheLine) std::atomic<std::uint64_t> written_{0};
    std::uint64_t read_seen_ = 0;
    std::atomic<std::int64_t> dropped_{0};
    alignas(kCacheLine) std::atomic<std::uint64_t> read_{0};
};

} // namespace bubblescope::profiler
