#include "profiler/events/host_recorder.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace bubblescope::profiler {
namespace {

/// A number in a page that is zero in a forked child, even if its fork handlers were not called.
std::atomic<std::uint64_t>* forgottenInChildren() {
    const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::bad_alloc();
    ::madvise(page, bytes, MADV_WIPEONFORK); // if it fails, the fork handlers clear it
    return new (page) std::atomic<std::uint64_t>(0);
}

} // namespace

HostRecorder::HostRecorder(Begin begin, std::function<void()> on_thread)
    : begin_(std::move(begin)), on_thread_(std::move(on_thread)), generation_(forgottenInChildren()) {}

HostRecorder::~HostRecorder() {
    // Never unmapped, because threads that recorded keep a reference to the page.
    generation_->store(0, std::memory_order_relaxed);
}

std::uint64_t HostRecorder::nextGeneration() noexcept {
    static std::atomic<std::uint64_t> next{1};
    return next.fetch_add(1, std::memory_order_relaxed);
}

// A key instead of a variable with a destructor: the C library needs memory for the latter, and ends the job if there
// is none.
bool HostRecorder::own(std::unique_ptr<Thread> thread) noexcept {
    static const std::optional<pthread_key_t> key = [] {
        pthread_key_t made{};
        return ::pthread_key_create(&made, &HostRecorder::endThread) == 0 ? std::optional(made) : std::nullopt;
    }();
    // Threads that call exit() end without the key's destructor.
    static const bool at_exit = key && std::atexit([] {
                                           endThread(::pthread_getspecific(*key));
                                           ::pthread_setspecific(*key, nullptr);
                                       }) == 0;
    (void)at_exit;
    Thread* const before = key ? static_cast<Thread*>(::pthread_getspecific(*key)) : nullptr;
    if (!key || ::pthread_setspecific(*key, thread.get()) != 0) {
        release(thread.release());
        return false;
    }
    release(before);
    (void)thread.release();
    return true;
}

/// Returns a thread's slot, unless it belongs to the process before a fork, or to another recorder.
void HostRecorder::release(Thread* thread) noexcept {
    if (thread == nullptr) return;
    if (thread->current->load(std::memory_order_relaxed) == thread->generation) {
        if (thread->lost != 0) nextChunk(*thread);
        thread->slot->state.store(event_memory::SlotState::Ended, std::memory_order_release);
    }
    delete thread;
}

void HostRecorder::endThread(void* thread) noexcept {
    release(static_cast<Thread*>(thread));
    local_ = {kOfNone, nullptr, true, 0, 0};
}

EventMemory* HostRecorder::beginLocked() noexcept {
    if (isOwn()) return memory_.load(std::memory_order_relaxed);
    memory_.store(begin_(std::exchange(began_, true)), std::memory_order_release);
    generation_->store(nextGeneration(), std::memory_order_release);
    return memory_.load(std::memory_order_relaxed);
}

EventMemory* HostRecorder::begin() noexcept {
    const std::lock_guard lock(mutex_);
    return beginLocked();
}

HostRecorder::Thread* HostRecorder::join() noexcept {
    if (local_.ending) return nullptr; // a record made while the thread is ending
    // If there was no room for the thread, searching again at every record would cost the job time.
    if (isOwn() && local_.refused != 0) {
        --local_.refused;
        return nullptr;
    }
    try {
        EventMemory* const memory = begin();
        if (memory == nullptr) return nullptr;
        auto thread = std::make_unique<Thread>();
        thread->memory = memory;
        thread->slot = memory->takeSlot(static_cast<std::uint32_t>(::syscall(SYS_gettid)));
        if (thread->slot == nullptr) {
            local_.refused = UINT8_MAX;
            return nullptr;
        }
        thread->chunk = event_memory::Place::of(thread->slot->begin).chunk;
        thread->words = memory->words(thread->chunk);
        if (local_.lost != 0) { // otherwise the reader might match an end with the wrong begin
            thread->words[thread->at++] = EventReader::gapWord(local_.lost);
            const event_memory::Place behind{thread->chunk, static_cast<std::uint32_t>(thread->at)};
            thread->slot->tail.store(behind.packed(), std::memory_order_release);
        }
        thread->current = generation_;
        thread->generation = generation_->load(std::memory_order_relaxed);
        Thread* const mine = thread.get();
        if (!own(std::move(thread))) {
            local_.refused = UINT8_MAX;
            return nullptr;
        }
        local_ = {mine->generation, mine, false, 0, 0};
        if (on_thread_) on_thread_();
        return local_.thread;
    } catch (const std::exception&) {
        return nullptr;
    }
}

void HostRecorder::refuse(HostRecord::Type type) noexcept {
    EventMemory* const memory = isOn() ? this->memory() : nullptr;
    if (memory == nullptr) return;
    if (host_record::begins(static_cast<std::uint64_t>(type)))
        memory->header().lost_begins.fetch_add(1, std::memory_order_relaxed);
    ++local_.lost;
}

bool HostRecorder::nextChunk(Thread& thread) noexcept {
    using namespace event_memory;
    const std::uint32_t next = thread.memory->takeChunk();
    if (next == thread.memory->chunks()) return false;
    // The link is also valid at the place where the old chunk ends.
    std::atomic_ref(thread.words[0]).store(std::uint64_t{next + 1} << 32 | thread.at, std::memory_order_release);
    thread.words = thread.memory->words(next);
    thread.chunk = next;
    thread.at = 1;
    if (thread.lost != 0) thread.words[thread.at++] = EventReader::gapWord(std::exchange(thread.lost, 0));
    thread.slot->tail.store(Place{next, static_cast<std::uint32_t>(thread.at)}.packed(), std::memory_order_release);
    return true;
}

void HostRecorder::lose(Thread& thread, bool begin) noexcept {
    ++thread.lost;
    if (begin) thread.memory->header().lost_begins.fetch_add(1, std::memory_order_relaxed);
}

void HostRecorder::afterForkInChild() noexcept {
    generation_->store(0, std::memory_order_relaxed);
    mutex_.unlock();
}

} // namespace bubblescope::profiler
