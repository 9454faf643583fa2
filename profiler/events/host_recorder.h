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

/// Takes records from any thread, each into a ring of that thread's own. A thread's first record makes its ring; from
/// then on recording takes no lock and allocates nothing. Nothing throws: where memory is out, records are counted as
/// lost.
class HostRecorder {
public:
    static constexpr std::size_t kDomains = 64; ///< with a stack of ranges each

    /// `slots` of 64 bytes a thread. `on_thread` is called when a thread records for the first time, by that thread.
    explicit HostRecorder(std::size_t slots, std::function<void()> on_thread = {})
        : slots_(slots), on_thread_(std::move(on_thread)), generation_(nextGeneration()) {}
    HostRecorder(const HostRecorder&) = delete;
    HostRecorder& operator=(const HostRecorder&) = delete;

    /// Any thread. While off, records are left out without being counted.
    void setOn(bool on) noexcept { on_.store(on, std::memory_order_relaxed); }
    [[nodiscard]] bool isOn() const noexcept { return on_.load(std::memory_order_relaxed); }

    /// Stamps the record with the time and puts it into the calling thread's ring. For what is no Push or Pop.
    void record(HostRecord& record) noexcept {
        if (!isOn()) return;
        Thread* const thread = ownThread();
        if (thread == nullptr) return;
        record.ticks = clock_.now();
        put(*thread, record);
    }
    /// Begins a range that has only a name: returns how many ranges enclose it, or −1 where that is unknown.
    /// This, and its pop(), is what most jobs do all the time.
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
    /// Begins a range: returns how many enclose it, or −1 where that is unknown.
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
    /// Ends the innermost range: returns how many were around it, or −1 if there was none.
    int pop(std::uint16_t domain) noexcept {
        if (domain >= kDomains) return -1;
        Thread* const thread = ownThread();
        if (thread == nullptr || thread->depth[domain] == 0) return -1;
        const std::uint16_t depth = --thread->depth[domain];
        if (isOn()) putShort(*thread, HostRecord::Type::Pop, {}, depth, domain);
        return depth;
    }

    /// How full the fullest ring was, 0 to 1 (more if it ran over), and what was lost.
    struct Drained {
        double fullest = 0;
        std::int64_t lost = 0;
    };
    /// One thread at a time. Calls `take(tid, record, after_gap)` for what all rings hold, a thread's in order; of a
    /// thread's records some are missing before one that comes `after_gap`. Rings of threads that have ended go.
    template <class Take>
    Drained drain(const Take& take);

    [[nodiscard]] const TickClock& clock() const { return clock_; }

    // A forked child has one thread, its parent's rings are not its own, and no other thread may hold the lock then.
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
    /// A thread's end of its ring. Nothing is to be run for it when a thread begins, so that it is reached at once.
    struct Mine {
        std::uint64_t generation;
        Thread* thread; ///< kept by Own
        bool over;      ///< the thread is ending, and Own is gone
    };
    /// What makes a ring go when its thread has ended.
    struct Own {
        std::shared_ptr<Thread> thread;
        ~Own();
    };

    static std::uint64_t nextGeneration() noexcept;
    static Own& own() noexcept;

    Thread* ownThread() noexcept { return mine_.generation == generation_ ? mine_.thread : join(); }
    Thread* join() noexcept;

    static void put(Thread& thread, const HostRecord& record) noexcept {
        HostWords words;
        thread.ring.push(encode(record, words));
    }
    /// As encode() makes it.
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

    static inline constinit thread_local Mine mine_{0, nullptr, false};

    std::size_t slots_;
    std::function<void()> on_thread_;
    std::uint64_t generation_; ///< differs between recorders, and between a process and its forks
    TickClock clock_;
    std::atomic<bool> on_{true};
    std::atomic<std::int64_t> refused_{0}; ///< threads for which there was no memory
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
        const bool ended = thread->ended.load(std::memory_order_acquire); // before its last records are drained
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
