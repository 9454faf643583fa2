#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace bubblescope::profiler {

/// A ring buffer of records with `Words` 64-bit words each, with one producing and one draining thread. The producer
/// takes no lock, allocates nothing and never waits. When the ring is full, new records overwrite the oldest, and the
/// drainer counts the lost records.
///
/// Each slot has a stamp with its sequence number, so the drainer can detect that the slot was overwritten during the
/// read.
template <std::size_t Words>
class OverwritingRing {
public:
    /// `slots` is rounded up to a power of two.
    explicit OverwritingRing(std::size_t slots)
        : size_(std::bit_ceil(slots < 1 ? 1 : slots)), slots_(new Slot[size_]) {}
    OverwritingRing(const OverwritingRing&) = delete;
    OverwritingRing& operator=(const OverwritingRing&) = delete;

    /// Producer only. Writes the words returned by `word(index)` in place.
    template <class Word>
    void push(const Word& word) noexcept {
        const std::uint64_t number = written_.load(std::memory_order_relaxed);
        Slot& slot = slots_[number & (size_ - 1)];
        // A drainer that sees one of the new words also sees the changed stamp.
        slot.stamp.store(kBeingWritten, std::memory_order_relaxed);
        for (std::size_t w = 0; w < Words; ++w)
            slot.words[w].store(word(w), std::memory_order_release);
        slot.stamp.store(number + 1, std::memory_order_release);
        written_.store(number + 1, std::memory_order_release);
    }

    /// Drainer only. Calls `take(words, after_gap)` for every record, oldest first. `words` is a std::span<const
    /// std::uint64_t>; `after_gap` is true if the records immediately before were lost. Returns the number of records
    /// lost since the last call.
    template <class Take>
    std::int64_t drain(const Take& take) {
        const std::uint64_t end = written_.load(std::memory_order_acquire);
        std::uint64_t read = read_.load(std::memory_order_relaxed);
        if (end - read > size_) {
            read = end - size_;
            gap_ = true;
        }
        std::array<std::uint64_t, Words> words;
        while (read != end) {
            const bool whole = copy(read, words);
            read_.store(++read, std::memory_order_release); // also if `take` throws
            if (!whole) {                                   // it was overwritten
                gap_ = true;
                continue;
            }
            ++taken_;
            take(std::span<const std::uint64_t>(words), std::exchange(gap_, false));
        }
        const std::uint64_t lost = lost_.load(std::memory_order_relaxed);
        const std::int64_t missing = static_cast<std::int64_t>(end - lost) - static_cast<std::int64_t>(taken_);
        if (missing <= 0) return 0;
        lost_.store(lost + static_cast<std::uint64_t>(missing), std::memory_order_relaxed);
        return missing;
    }

    [[nodiscard]] std::size_t capacity() const { return size_; }
    /// Number of records waiting to be drained; more than the capacity if some were overwritten. May be called by any
    /// thread; the result may be stale.
    [[nodiscard]] std::uint64_t waiting() const {
        const std::uint64_t read = read_.load(std::memory_order_acquire); // loaded first, so that `read` cannot be
                                                                          // newer than written_
        return written_.load(std::memory_order_acquire) - read;
    }
    /// Number of records that were overwritten before they were drained. Any thread.
    [[nodiscard]] std::int64_t dropped() const {
        const std::uint64_t wait = waiting();
        const std::uint64_t since = wait > size_ ? wait - size_ : 0;
        return static_cast<std::int64_t>(lost_.load(std::memory_order_relaxed) + since);
    }

private:
    static constexpr std::uint64_t kBeingWritten = 0; ///< stamp of a slot that is being written; otherwise the stamp is
                                                      ///< the slot's number plus 1
    static constexpr std::size_t kCacheLine = 64;
    static constexpr std::size_t kSlotBytes = (Words + 1) * sizeof(std::uint64_t);

    struct alignas(kSlotBytes % kCacheLine == 0 ? kCacheLine : alignof(std::uint64_t)) Slot {
        std::atomic<std::uint64_t> stamp{kBeingWritten};
        std::array<std::atomic<std::uint64_t>, Words> words{};
    };

    /// Returns false if the record at `read` was overwritten.
    bool copy(std::uint64_t read, std::array<std::uint64_t, Words>& words) const {
        const Slot& slot = slots_[read & (size_ - 1)];
        const std::uint64_t stamp = slot.stamp.load(std::memory_order_acquire);
        if (stamp != read + 1) return false;
        for (std::size_t w = 0; w < Words; ++w)
            words[w] = slot.words[w].load(std::memory_order_acquire);
        return slot.stamp.load(std::memory_order_relaxed) == stamp;
    }

    std::size_t size_;
    std::unique_ptr<Slot[]> slots_;
    // Producer and drainer write to different cache lines.
    alignas(kCacheLine) std::atomic<std::uint64_t> written_{0};
    alignas(kCacheLine) std::atomic<std::uint64_t> read_{0}; ///< this and the following members belong to the drainer
    std::atomic<std::uint64_t> lost_{0};
    std::uint64_t taken_ = 0;
    bool gap_ = false; ///< true if records before read_ were lost
};

} // namespace bubblescope::profiler
