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

/// A ring of records of any length between one producing and one draining thread. The producer takes no lock, allocates
/// nothing and never waits: when the ring is full the oldest records are overwritten, and the drainer counts them.
///
/// A record takes as many slots of 64 bytes as it needs. Every slot carries a stamp that says which slot of all time it
/// holds, so that a drainer that was overtaken while it read notices.
class LatestRing {
public:
    static constexpr std::size_t kSlotWords = 7; ///< of 8 bytes, next to the stamp
    static constexpr std::size_t kMostSlots = 8; ///< of one record
    static constexpr std::size_t kMaxWords = kSlotWords * kMostSlots;

    /// `slots` is rounded up to a power of two, and to what the longest record takes twice.
    explicit LatestRing(std::size_t slots)
        : size_(std::bit_ceil(slots < 2 * kMostSlots ? 2 * kMostSlots : slots)), slots_(new Slot[size_]) {}
    LatestRing(const LatestRing&) = delete;
    LatestRing& operator=(const LatestRing&) = delete;

    /// Producer only. `words` must be at least one, at most kMaxWords; what is longer is cut.
    void push(std::span<const std::uint64_t> words) noexcept {
        const std::size_t count = words.size() < kMaxWords ? words.size() : kMaxWords;
        const std::size_t slots = (count + kSlotWords - 1) / kSlotWords;
        const std::uint64_t first = written_.load(std::memory_order_relaxed);
        for (std::size_t s = 0; s < slots; ++s) {
            Slot& slot = slots_[(first + s) & (size_ - 1)];
            // A drainer that sees one of the new words also sees that the stamp is no longer the old one.
            slot.stamp.store(kBeingWritten, std::memory_order_relaxed);
            const std::size_t begin = s * kSlotWords;
            const std::size_t end = count - begin < kSlotWords ? count : begin + kSlotWords;
            for (std::size_t w = begin; w < end; ++w)
                slot.words[w - begin].store(words[w], std::memory_order_release);
            slot.stamp.store(stampOf(first + s, s == 0 ? slots : 0), std::memory_order_release);
        }
        written_.store(first + slots, std::memory_order_release);
        records_.store(records_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }

    /// Producer only: a record of one slot, of `count` words that `word(number)` gives; made where it lies, which is
    /// the cheapest way for short ones.
    template <class Word>
    void pushSlot(std::size_t count, const Word& word) noexcept {
        const std::uint64_t number = written_.load(std::memory_order_relaxed);
        Slot& slot = slots_[number & (size_ - 1)];
        slot.stamp.store(kBeingWritten, std::memory_order_relaxed);
        for (std::size_t w = 0; w < count; ++w)
            slot.words[w].store(word(w), std::memory_order_release);
        slot.stamp.store(stampOf(number, 1), std::memory_order_release);
        written_.store(number + 1, std::memory_order_release);
        records_.store(records_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }

    /// Drainer only: calls `take(words, after_gap)` for every record that is there, oldest first; its words, a
    /// std::span<const std::uint64_t>, are as many as fill its slots, and before it some are missing if `after_gap`.
    /// Returns how many were lost since the last call.
    template <class Take>
    std::int64_t drain(const Take& take) {
        const std::uint64_t records = records_.load(std::memory_order_acquire); // before written_, so never more
        const std::uint64_t end = written_.load(std::memory_order_acquire);
        if (end - read_ > size_) {
            read_ = end - size_;
            gap_ = true;
        }
        std::array<std::uint64_t, kMaxWords> words;
        while (read_ != end) {
            const std::size_t slots = copy(words);
            if (slots == 0) { // overwritten, or in the middle of a record whose begin is
                ++read_;
                gap_ = true;
                continue;
            }
            read_ += slots;
            ++taken_;
            take(std::span<const std::uint64_t>(words.data(), slots * kSlotWords), std::exchange(gap_, false));
        }
        // Records that came in meanwhile may be among those taken.
        const std::int64_t missing = static_cast<std::int64_t>(records - lost_) - static_cast<std::int64_t>(taken_);
        if (missing <= 0) return 0;
        lost_ += static_cast<std::uint64_t>(missing);
        return missing;
    }

    /// In slots.
    [[nodiscard]] std::size_t capacity() const { return size_; }
    /// Slots that wait to be drained, more than there are where some were overwritten. Drainer only.
    [[nodiscard]] std::uint64_t waiting() const { return written_.load(std::memory_order_relaxed) - read_; }

private:
    static constexpr std::uint64_t kBeingWritten = 0;
    static constexpr std::size_t kCacheLine = 64;
    static constexpr unsigned kSlotsBits = 4; ///< hold up to kMostSlots

    struct alignas(kCacheLine) Slot {
        std::atomic<std::uint64_t> stamp{kBeingWritten};
        std::array<std::atomic<std::uint64_t>, kSlotWords> words{};
    };

    /// Never kBeingWritten. `slots`: of a record that begins here, else 0.
    static std::uint64_t stampOf(std::uint64_t number, std::size_t slots) {
        return ((number + 1) << kSlotsBits) | static_cast<std::uint64_t>(slots);
    }

    /// The record at read_: how many slots it has, 0 if it is not there as a whole.
    std::size_t copy(std::array<std::uint64_t, kMaxWords>& words) const {
        std::size_t slots = 1;
        for (std::size_t s = 0; s < slots; ++s) {
            const Slot& slot = slots_[(read_ + s) & (size_ - 1)];
            const std::uint64_t stamp = slot.stamp.load(std::memory_order_acquire);
            if (stamp >> kSlotsBits != read_ + s + 1) return 0;
            if (s == 0) slots = stamp & ((1U << kSlotsBits) - 1);
            for (std::size_t w = 0; w < kSlotWords; ++w)
                words[s * kSlotWords + w] = slot.words[w].load(std::memory_order_acquire);
            if (slot.stamp.load(std::memory_order_relaxed) != stamp) return 0;
        }
        return slots;
    }

    std::size_t size_;
    std::unique_ptr<Slot[]> slots_;
    alignas(kCacheLine) std::atomic<std::uint64_t> written_{0}; ///< slots
    std::atomic<std::uint64_t> records_{0};
    alignas(kCacheLine) std::uint64_t read_ = 0; ///< slots; the drainer's, like what follows
    std::uint64_t taken_ = 0;                    ///< records
    std::uint64_t lost_ = 0;                     ///< records
    bool gap_ = false;                           ///< before read_
};

static_assert(LatestRing::kMostSlots < (1U << 4));

} // namespace bubblescope::profiler
