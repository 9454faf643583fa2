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

/// A ring of records between one producing and one draining thread. The producer takes no lock, allocates nothing and
/// never waits. When the ring is full the oldest records are overwritten, and the drainer counts them.
///
/// A record occupies as many slots of `SlotWords` 64-bit words as it needs, at most `MaxSlots`. Every slot has a stamp
/// with its number since the ring was created, by which the drainer detects that a slot was overwritten while it was
/// read.
template <std::size_t SlotWords, std::size_t MaxSlots>
class OverwritingRing {
public:
    static constexpr std::size_t kSlotWords = SlotWords;            ///< beside the stamp
    static constexpr std::size_t kMaxWords = kSlotWords * MaxSlots; ///< of one record

    /// `slots` is rounded up to a power of two and, if records may take several slots, to at least twice the longest
    /// record.
    explicit OverwritingRing(std::size_t slots)
        : size_(std::bit_ceil(slots < kMinSlots ? kMinSlots : slots)), slots_(new Slot[size_]) {}
    OverwritingRing(const OverwritingRing&) = delete;
    OverwritingRing& operator=(const OverwritingRing&) = delete;

    /// Producer only. A record has at least one word; words beyond kMaxWords are cut off.
    void push(std::span<const std::uint64_t> words) noexcept {
        const std::size_t count = words.size() < kMaxWords ? words.size() : kMaxWords;
        const std::size_t slots = (count + kSlotWords - 1) / kSlotWords;
        const std::uint64_t first = written_.load(std::memory_order_relaxed);
        for (std::size_t s = 0; s < slots; ++s) {
            const std::size_t begin = s * kSlotWords;
            const std::size_t in_slot = count - begin < kSlotWords ? count - begin : kSlotWords;
            fill(first + s, s == 0 ? slots : 0, in_slot, [&](std::size_t w) { return words[begin + w]; });
        }
        finish(first + slots);
    }

    /// Producer only. A record of one slot, of the `count` words that `word(index)` returns. It is written in place,
    /// which is the cheapest way for short records.
    template <class Word>
    void pushSlot(std::size_t count, const Word& word) noexcept {
        const std::uint64_t number = written_.load(std::memory_order_relaxed);
        fill(number, 1, count, word);
        finish(number + 1);
    }

    /// Drainer only. Calls `take(words, after_gap)` for every record, oldest first. `words` is a std::span<const
    /// std::uint64_t> over all slots of the record; `after_gap`: records before it were lost. Returns the number of
    /// records lost since the last call.
    template <class Take>
    std::int64_t drain(const Take& take) {
        const std::uint64_t counted = records_.load(std::memory_order_acquire); // before written_, so never more
        const std::uint64_t end = written_.load(std::memory_order_acquire);
        std::uint64_t read = read_.load(std::memory_order_relaxed);
        if (end - read > size_) {
            read = end - size_;
            gap_ = true;
        }
        std::array<std::uint64_t, kMaxWords> words;
        while (read != end) {
            const std::size_t slots = copy(read, words);
            if (slots == 0) { // overwritten, or inside a record whose begin was
                read_.store(++read, std::memory_order_release);
                gap_ = true;
                continue;
            }
            read += slots;
            read_.store(read, std::memory_order_release); // also if `take` throws
            ++taken_;
            take(std::span<const std::uint64_t>(words.data(), slots * kSlotWords), std::exchange(gap_, false));
        }
        // Records that arrived meanwhile may be among those taken.
        const std::uint64_t records = MaxSlots == 1 ? end : counted;
        const std::uint64_t lost = lost_.load(std::memory_order_relaxed);
        const std::int64_t missing = static_cast<std::int64_t>(records - lost) - static_cast<std::int64_t>(taken_);
        if (missing <= 0) return 0;
        lost_.store(lost + static_cast<std::uint64_t>(missing), std::memory_order_relaxed);
        return missing;
    }

    /// In slots.
    [[nodiscard]] std::size_t capacity() const { return size_; }
    /// Slots that wait to be drained, more than the capacity if some were overwritten. Any thread; may be outdated.
    [[nodiscard]] std::uint64_t waiting() const {
        const std::uint64_t read = read_.load(std::memory_order_acquire); // first, so that it is not ahead
        return written_.load(std::memory_order_acquire) - read;
    }
    /// Number of records that were overwritten before they were drained. Any thread.
    [[nodiscard]] std::int64_t dropped() const requires(MaxSlots == 1) {
        const std::uint64_t wait = waiting();
        const std::uint64_t since = wait > size_ ? wait - size_ : 0;
        return static_cast<std::int64_t>(lost_.load(std::memory_order_relaxed) + since);
    }

private:
    static constexpr std::uint64_t kBeingWritten = 0;
    static constexpr std::size_t kCacheLine = 64;
    static constexpr unsigned kSlotsBits = 4; ///< of a stamp: the number of slots of a record
    static constexpr std::size_t kMinSlots = MaxSlots == 1 ? 1 : 2 * MaxSlots;
    static constexpr std::size_t kSlotBytes = (SlotWords + 1) * sizeof(std::uint64_t);
    static_assert(MaxSlots < (1U << kSlotsBits));

    struct alignas(kSlotBytes % kCacheLine == 0 ? kCacheLine : alignof(std::uint64_t)) Slot {
        std::atomic<std::uint64_t> stamp{kBeingWritten};
        std::array<std::atomic<std::uint64_t>, kSlotWords> words{};
    };

    /// Never returns kBeingWritten. `slots`: of the record that begins here, else 0.
    static std::uint64_t stampOf(std::uint64_t number, std::size_t slots) {
        return ((number + 1) << kSlotsBits) | static_cast<std::uint64_t>(slots);
    }

    template <class Word>
    void fill(std::uint64_t number, std::size_t slots, std::size_t count, const Word& word) noexcept {
        Slot& slot = slots_[number & (size_ - 1)];
        // A drainer that sees one of the new words also sees that the stamp has changed.
        slot.stamp.store(kBeingWritten, std::memory_order_relaxed);
        for (std::size_t w = 0; w < count; ++w)
            slot.words[w].store(word(w), std::memory_order_release);
        slot.stamp.store(stampOf(number, slots), std::memory_order_release);
    }

    void finish(std::uint64_t written) noexcept {
        written_.store(written, std::memory_order_release);
        if constexpr (MaxSlots > 1)
            records_.store(records_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }

    /// Copies the record at `read`. Returns its number of slots, 0 if it is not complete.
    std::size_t copy(std::uint64_t read, std::array<std::uint64_t, kMaxWords>& words) const {
        std::size_t slots = 1;
        for (std::size_t s = 0; s < slots; ++s) {
            const Slot& slot = slots_[(read + s) & (size_ - 1)];
            const std::uint64_t stamp = slot.stamp.load(std::memory_order_acquire);
            if (stamp >> kSlotsBits != read + s + 1) return 0;
            if (s == 0) slots = stamp & ((1U << kSlotsBits) - 1);
            for (std::size_t w = 0; w < kSlotWords; ++w)
                words[s * kSlotWords + w] = slot.words[w].load(std::memory_order_acquire);
            if (slot.stamp.load(std::memory_order_relaxed) != stamp) return 0;
        }
        return slots;
    }

    std::size_t size_;
    std::unique_ptr<Slot[]> slots_;
    // Producer and drainer write to different cache lines.
    alignas(kCacheLine) std::atomic<std::uint64_t> written_{0}; ///< slots
    std::atomic<std::uint64_t> records_{0};                     ///< counted only if records may take several slots
    alignas(kCacheLine) std::atomic<std::uint64_t> read_{0};    ///< slots; the drainer owns this and what follows
    std::atomic<std::uint64_t> lost_{0};                        ///< records
    std::uint64_t taken_ = 0;                                   ///< records
    bool gap_ = false;                                          ///< records before read_ were lost
};

/// The ring of the events of a job's thread: records of any length, in slots that fill a cache line.
using EventRing = OverwritingRing<7, 8>;

} // namespace bubblescope::profiler
