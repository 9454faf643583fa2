#pragma once

#include "profiler/events/host_record.h"
#include "profiler/events/overwriting_ring.h"
#include "profiler/events/tick_clock.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::profiler {

/// Takes records from any thread, each into that thread's ring. A thread's first record creates its ring; after that
/// recording takes no lock and allocates nothing. Nothing throws: if memory is exhausted, records are counted as lost.
class HostRecorder {
public:
    static constexpr std::size_t kDomains = 64; ///< with a stack of ranges each

    /// `slots` of 64 bytes for each thread. `on_thread` is called on every thread that records for the first time.
    explicit HostRecorder(std::size_t slots, std::function<void()> on_thread = {})
        : slots_(slots), on_thread_(std::move(on_thread)), generation_(nextGeneration()) {}
    HostRecorder(const HostRecorder&) = delete;
    HostRecorder& operator=(const HostRecorder&) = delete;

    /// Any thread. While off, records are discarded and not counted.
    void setOn(bool on) noexcept { on_.store(on, std::memory_order_relaxed); }
    [[nodiscard]] bool isOn() const noexcept { return on_.load(std::memory_order_relaxed); }

    /// Adds the time to the record and puts it into the calling thread's ring. Not for Push and Pop.
    void record(HostRecord& record) noexcept {
        if (!isOn()) return;
        Thread* const thread = ownThread();
        if (thread == nullptr) return;
        record.ticks = clock_.now();
        put(*thread, record);
    }
    /// Begins a range that has only a name, the most frequent call in most jobs. Returns the number of enclosing
    /// ranges, or −1 if it is unknown.
    int push(std::string_view name, std::uint16_t domain) noexcept {
        if (name.size() > host_record::kMaxShortText) {
            HostRecord record;
            record.domain = domain;
            record.text = name;
            return push(record);
        }
        if (domain >= kDomains) return -1;
        Thread* const thread = ownThread();
        if (thread == nullptr) return -1;
        const std::uint16_t depth = thread->depth[domain]++;
        if (isOn()) putShort(*thread, HostRecord::Type::Push, name, depth, domain);
        return depth;
    }
    /// Begins a range. Returns the number of enclosing ranges, or −1 if it is unknown.
    int push(HostRecord& record) noexcept {
        if (record.domain >= kDomains) return -1;
        Thread* const thread = ownThread();
        if (thread == nullptr) return -1;
        record.type = HostRecord::Type::Push;
        record.depth = thread->depth[record.domain]++;
        if (isOn()) {
            record.ticks = clock_.now();
            put(*thread, record);
        }
        return record.depth;
    }
    /// Ends the innermost range. Returns the number of ranges around it, or −1 if there was none.
    int pop(std::uint16_t domain) noexcept {
        if (domain >= kDomains) return -1;
        Thread* const thread = ownThread();
        if (thread == nullptr || thread->depth[domain] == 0) return -1;
        const std::uint16_t depth = --thread->depth[domain];
        if (isOn()) putShort(*thread, HostRecord::Type::Pop, {}, depth, domain);
        return depth;
    }

    /// How full the fullest ring was, 0 to 1 (above 1 if it overflowed), and the number of lost records.
    struct Drained {
        double fullest = 0;
        std::int64_t lost = 0;
    };
    /// One thread at a time. Calls `take(tid, record, after_gap)` for the records of all rings, those of each thread in
    /// order; `after_gap`: records of the thread before this one were lost. Removes the rings of threads that have
    /// ended.
    template <class Take>
    Drained drain(const Take& take);

    [[nodiscard]] const TickClock& clock() const { return clock_; }

    // A forked child has only one thread and does not own its parent's rings. No other thread may hold the lock then.
    void beforeFork() noexcept { mutex_.lock(); }
    void afterForkInParent() noexcept { mutex_.unlock(); }
    void afterForkInChild() noexcept;

private:
    struct Thread {
        Thread(std::size_t slots, std::uint32_t id) : ring(slots), tid(id) {}
        EventRing ring;
        std::uint32_t tid;
        std::atomic<bool> ended{false};
        std::array<std::uint16_t, kDomains> depth{};
    };
    /// The thread-local access to a thread's ring. It needs no initialisation when a thread begins, so that reading it
    /// is cheap.
    struct LocalRing {
        std::uint64_t generation;
        Thread* thread; ///< owned by RingOwner
        bool ending;    ///< the thread is ending, and RingOwner is gone
    };
    /// Marks a thread's ring for removal when the thread ends.
    struct RingOwner {
        std::shared_ptr<Thread> thread;
        ~RingOwner();
    };

    static std::uint64_t nextGeneration() noexcept;
    static RingOwner& own() noexcept;

    Thread* ownThread() noexcept { return local_.generation == generation_ ? local_.thread : join(); }
    Thread* join() noexcept;

    static void put(Thread& thread, const HostRecord& record) noexcept {
        HostWords words;
        thread.ring.push(encode(record, words));
    }
    /// Encodes in place, as encode() does.
    void putShort(Thread& thread, HostRecord::Type type, std::string_view text, std::uint16_t depth,
                  std::uint16_t domain) noexcept {
        using namespace host_record;
        const std::int64_t ticks = clock_.now();
        const std::size_t count = kShortWords + (text.size() + 7) / 8;
        thread.ring.pushSlot(count, [&](std::size_t word) {
            if (word == 0) return shortHead(type, text.size(), depth, domain);
            if (word == 1) return static_cast<std::uint64_t>(ticks);
            return lettersAt(text, (word - kShortWords) * sizeof(std::uint64_t));
        });
    }

    static inline constinit thread_local LocalRing local_{0, nullptr, false};

    std::size_t slots_;
    std::function<void()> on_thread_;
    std::uint64_t generation_; ///< differs between recorders, and between a process and its forks
    TickClock clock_;
    std::atomic<bool> on_{true};
    std::atomic<std::int64_t> refused_{0}; ///< threads without a ring, because memory was exhausted
    std::mutex mutex_;                     ///< guards the list
    std::vector<std::shared_ptr<Thread>> threads_;
};

template <class Take>
HostRecorder::Drained HostRecorder::drain(const Take& take) {
    std::vector<std::shared_ptr<Thread>> threads;
    {
        const std::lock_guard lock(mutex_);
        threads = threads_;
    }
    Drained drained;
    drained.lost = refused_.exchange(0, std::memory_order_relaxed);
    std::vector<std::shared_ptr<Thread>> gone;
    for (const std::shared_ptr<Thread>& thread : threads) {
        const bool ended = thread->ended.load(std::memory_order_acquire); // read before the last records are drained
        EventRing& ring = thread->ring;
        drained.fullest =
            std::max(drained.fullest, static_cast<double>(ring.waiting()) / static_cast<double>(ring.capacity()));
        drained.lost += ring.drain([&](std::span<const std::uint64_t> words, bool after_gap) {
            if (const auto record = decodeHostRecord(words)) take(thread->tid, *record, after_gap);
        });
        if (ended) gone.push_back(thread);
    }
    if (!gone.empty()) {
        const std::lock_guard lock(mutex_);
        std::erase_if(threads_, [&](const auto& known) { return std::ranges::find(gone, known) != gone.end(); });
    }
    return drained;
}

} // namespace bubblescope::profiler
