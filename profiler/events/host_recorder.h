#pragma once

#include "profiler/events/event_memory.h"
#include "profiler/events/host_record.h"
#include "profiler/events/tick_clock.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

namespace bubblescope::profiler {

/// Stores records from any thread, each thread in its own chunks of an EventMemory. A thread's first record takes a
/// slot. After that, recording takes no lock, allocates nothing and never waits; if no memory is free, records are
/// counted as lost. No function throws.
///
/// A forked child does nothing until its first record, which detects the new process and requests memory for it.
class HostRecorder {
public:
    static constexpr std::size_t kDomains = 64; ///< each domain has a stack of ranges per thread

    /// Called under a lock when a process, including a forked child, makes its first record. Returns the memory for the
    /// process's threads, or null if nothing is recorded. Must not throw.
    using Begin = std::function<EventMemory*(bool forked)>;
    /// `on_thread` is called on every thread when it makes its first record.
    explicit HostRecorder(Begin begin, std::function<void()> on_thread = {});
    HostRecorder(const HostRecorder&) = delete;
    HostRecorder& operator=(const HostRecorder&) = delete;
    ~HostRecorder();

    /// Any thread. While recording is off, records are discarded and not counted.
    void setOn(bool on) noexcept { on_.store(on, std::memory_order_relaxed); }
    [[nodiscard]] bool isOn() const noexcept { return on_.load(std::memory_order_relaxed); }

    /// Sets the record's time and stores it in the calling thread's memory. Not for Push and Pop.
    void record(HostRecord& record) noexcept {
        if (!isOn()) return;
        Thread* const thread = ownThread();
        record.ticks = clock_.now();
        put(thread, record);
    }
    /// Begins a range that has only a name, the most frequent call in most jobs. Returns the number of enclosing
    /// ranges, or −1 if unknown.
    int push(std::string_view name, std::uint16_t domain) noexcept {
        if (domain >= kDomains) return -1;
        Thread* const thread = ownThread();
        if (thread == nullptr) return refuse(HostRecord::Type::Push), -1;
        const std::uint16_t depth = thread->depth[domain]++;
        if (isOn()) putShort(*thread, HostRecord::Type::Push, name.substr(0, HostRecord::kMaxText), depth, domain);
        return depth;
    }
    /// Begins a range. Returns the number of enclosing ranges, or −1 if unknown.
    int push(HostRecord& record) noexcept {
        if (record.domain >= kDomains) return -1;
        Thread* const thread = ownThread();
        record.type = HostRecord::Type::Push;
        if (thread != nullptr) record.depth = thread->depth[record.domain]++;
        if (isOn()) {
            record.ticks = clock_.now();
            put(thread, record);
        }
        return thread == nullptr ? -1 : record.depth;
    }
    /// Ends the innermost range. Returns the number of enclosing ranges, or −1 if no range was open.
    int pop(std::uint16_t domain) noexcept {
        if (domain >= kDomains) return -1;
        Thread* const thread = ownThread();
        if (thread == nullptr || thread->depth[domain] == 0) return -1;
        const std::uint16_t depth = --thread->depth[domain];
        if (isOn()) putShort(*thread, HostRecord::Type::Pop, {}, depth, domain);
        return depth;
    }

    [[nodiscard]] const TickClock& clock() const { return clock_; }
    /// The memory of this process; null before the process's first record, or if there is no memory.
    [[nodiscard]] EventMemory* memory() const { return isOwn() ? memory_.load(std::memory_order_acquire) : nullptr; }
    /// Requests the memory of this process as its first record would, without storing a record.
    EventMemory* begin() noexcept;

    // Call these before and after a fork. They only wait for threads that are making their first record.
    void beforeFork() noexcept { mutex_.lock(); }
    void afterForkInParent() noexcept { mutex_.unlock(); }
    void afterForkInChild() noexcept;

private:
    struct Thread {
        EventMemory* memory = nullptr;
        event_memory::ThreadSlot* slot = nullptr;
        std::uint64_t* words = nullptr; ///< words of the chunk
        std::size_t at = 1;             ///< words used in the chunk
        std::uint32_t chunk = 0;
        std::uint64_t lost = 0; ///< records lost since the last stored record
        std::uint64_t generation = 0;
        const std::atomic<std::uint64_t>* current = nullptr; ///< the recorder's generation
        std::array<std::uint16_t, kDomains> depth{};
    };
    /// The calling thread's access to its memory. Thread-local data that needs no initialisation when a thread starts,
    /// so reading it is cheap.
    static constexpr std::uint64_t kOfNone = UINT64_MAX; ///< generation that no recorder has
    struct LocalThread {
        std::uint64_t generation;
        Thread* thread; ///< owned by the thread; see own()
        bool ending;    ///< true if the thread is ending and its memory was returned
        std::uint8_t refused;
        std::uint64_t lost; ///< records made before the thread had memory
    };
    static std::uint64_t nextGeneration() noexcept;
    /// Replaces the calling thread's memory. If the system is out of memory, deletes `thread` and returns
    /// false.
    static bool own(std::unique_ptr<Thread> thread) noexcept;
    static void release(Thread* thread) noexcept;
    static void endThread(void* thread) noexcept;

    [[nodiscard]] bool isOwn() const noexcept { return generation_->load(std::memory_order_relaxed) != 0; }
    Thread* ownThread() noexcept {
        return local_.generation == generation_->load(std::memory_order_relaxed) ? local_.thread : join();
    }
    Thread* join() noexcept;
    EventMemory* beginLocked() noexcept;
    void refuse(HostRecord::Type type) noexcept;
    /// Continues in another chunk; returns false if no chunk is free.
    static bool nextChunk(Thread& thread) noexcept;
    static void lose(Thread& thread, bool begin) noexcept;

    template <class Word>
    static void write(Thread& thread, std::size_t count, bool begin, const Word& word) noexcept {
        constexpr std::size_t kEnd = event_memory::kChunkWords - 1; // reserves space for a gap record
        if ((thread.at + count > kEnd || thread.lost != 0) && !nextChunk(thread)) [[unlikely]]
            return lose(thread, begin);
        std::uint64_t* const to = thread.words + thread.at;
        for (std::size_t w = 0; w < count; ++w)
            to[w] = word(w);
        thread.at += count;
        thread.slot->tail.store(std::uint64_t{thread.chunk} << 32 | thread.at, std::memory_order_release);
    }
    void put(Thread* thread, const HostRecord& record) noexcept {
        if (thread == nullptr) return refuse(record.type);
        HostWords words;
        const std::span<const std::uint64_t> encoded = encode(record, words);
        write(*thread, encoded.size(), host_record::begins(encoded[0]), [&](std::size_t w) { return encoded[w]; });
    }
    /// Encodes a record in place, in the format of encode().
    void putShort(Thread& thread, HostRecord::Type type, std::string_view text, std::uint16_t depth,
                  std::uint16_t domain) noexcept {
        using namespace host_record;
        const std::int64_t ticks = clock_.now();
        const std::size_t count = kShortWords + (text.size() + 7) / 8;
        write(thread, count, type != HostRecord::Type::Pop, [&](std::size_t word) {
            if (word == 0) return shortHead(type, text.size(), depth, domain);
            if (word == 1) return static_cast<std::uint64_t>(ticks);
            return lettersAt(text, (word - kShortWords) * sizeof(std::uint64_t));
        });
    }

    // Needs no allocation when a thread first uses it: if an allocation failed there, the C library would end the job.
    [[gnu::tls_model("initial-exec")]] static inline constinit thread_local LocalThread local_{kOfNone, nullptr, false,
                                                                                               0, 0};

    Begin begin_;
    std::function<void()> on_thread_;
    /// Differs between recorders. The number is in a page that the system clears in forked children, so that a child
    /// detects the fork.
    std::atomic<std::uint64_t>* generation_;
    TickClock clock_;
    std::atomic<bool> on_{true};
    std::mutex mutex_; ///< held while a process starts recording
    std::atomic<EventMemory*> memory_{nullptr};
    bool began_ = false; ///< true if this process or an ancestor started recording
};

} // namespace bubblescope::profiler
