#pragma once

#include "profiler/recorder/slice_record.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

namespace bubblescope::profiler {

/// A ring of records between one producing and one draining thread. The producer takes no lock, allocates nothing and
/// never waits: when the ring is full the oldest records are overwritten, and the drainer counts them.
///
/// Every slot carries a stamp that says which record of all time it holds, so that a drainer that was overtaken while
/// it read notices.
class RecordRing {
public:
    /// `capacity` is rounded up to a power of two.
    explicit RecordRing(std::size_t capacity) : size_(std::bit_ceil(capacity)), slots_(new Slot[size_]) {}
    RecordRing(const RecordRing&) = delete;
    RecordRing& operator=(const RecordRing&) = delete;

    /// Producer only.
    void push(const SliceRecord& record) noexcept {
        const std::uint64_t number = written_.load(std::memory_order_relaxed);
        Slot& slot = slots_[number & (size_ - 1)];
        const auto words = std::bit_cast<Words>(record);
        // A drainer that sees one of the new words also sees that the stamp is no longer the old one.
        slot.stamp.store(kBeingWritten, std::memory_order_relaxed);
        for (std::size_t w = 0; w < words.size(); ++w)
            slot.words[w].store(words[w], std::memory_order_release);
        slot.stamp.store(number + 1, std::memory_order_release);
        written_.store(number + 1, std::memory_order_release);
    }

    /// Drainer only: appends what is there to `out`, oldest first.
    void drain(std::vector<SliceRecord>& out) {
        const std::uint64_t end = written_.load(std::memory_order_acquire);
        std::uint64_t read = read_.load(std::memory_order_relaxed);
        std::uint64_t lost = 0;
        if (end - read > size_) {
            lost = end - read - size_;
            read = end - size_;
        }
        out.reserve(out.size() + (end - read));
        Words words;
        for (; read != end; ++read) {
            if (copy(read, words))
                out.push_back(std::bit_cast<SliceRecord>(words));
            else
                ++lost; // overwritten meanwhile
        }
        read_.store(read, std::memory_order_release);
        if (lost > 0) dropped_.fetch_add(static_cast<std::int64_t>(lost), std::memory_order_relaxed);
    }

    /// Records that were overwritten before they were drained. Any thread.
    [[nodiscard]] std::int64_t dropped() const {
        const std::uint64_t wait = waiting();
        const auto since = wait > size_ ? static_cast<std::int64_t>(wait - size_) : 0;
        return dropped_.load(std::memory_order_relaxed) + since;
    }
    /// Records that wait to be drained, more than there are where some were overwritten. Any thread; may be old.
    [[nodiscard]] std::uint64_t waiting() const {
        const std::uint64_t read = read_.load(std::memory_order_acquire); // first, so that it is not ahead
        return written_.load(std::memory_order_acquire) - read;
    }
    [[nodiscard]] std::size_t capacity() const { return size_; }

private:
    static constexpr std::uint64_t kBeingWritten = 0;
    static constexpr std::size_t kCacheLine = 64;
    using Words = std::array<std::uint64_t, sizeof(SliceRecord) / sizeof(std::uint64_t)>;
    static_assert(sizeof(Words) == sizeof(SliceRecord));

    struct Slot {
        std::atomic<std::uint64_t> stamp{kBeingWritten}; ///< number of the record, from 1 on
        std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Words>> words{};
    };

    /// Whether the record of this number is still there as a whole.
    bool copy(std::uint64_t number, Words& words) const {
        const Slot& slot = slots_[number & (size_ - 1)];
        if (slot.stamp.load(std::memory_order_acquire) != number + 1) return false;
        for (std::size_t w = 0; w < words.size(); ++w)
            words[w] = slot.words[w].load(std::memory_order_acquire);
        return slot.stamp.load(std::memory_order_relaxed) == number + 1;
    }

    std::size_t size_;
    std::unique_ptr<Slot[]> slots_;
    // The two sides write to different cache lines.
    alignas(kCacheLine) std::atomic<std::uint64_t> written_{0};
    alignas(kCacheLine) std::atomic<std::uint64_t> read_{0};
    std::atomic<std::int64_t> dropped_{0};
};

} // namespace bubblescope::profiler
