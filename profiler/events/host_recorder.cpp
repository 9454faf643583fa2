#include "profiler/events/host_recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <exception>

namespace bubblescope::profiler {

std::uint64_t HostRecorder::nextGeneration() noexcept {
    static std::atomic<std::uint64_t> next{1};
    return next.fetch_add(1, std::memory_order_relaxed);
}

HostRecorder::RingOwner& HostRecorder::own() noexcept {
    static thread_local RingOwner own;
    return own;
}

HostRecorder::RingOwner::~RingOwner() {
    if (thread != nullptr) thread->ended.store(true, std::memory_order_release);
    local_ = {0, nullptr, true};
}

HostRecorder::Thread* HostRecorder::join() noexcept {
    if (local_.ending) { // a record made while the thread ends
        refused_.fetch_add(1, std::memory_order_relaxed);
        return nullptr;
    }
    try {
        auto thread = std::make_shared<Thread>(slots_, static_cast<std::uint32_t>(::syscall(SYS_gettid)));
        {
            const std::lock_guard lock(mutex_);
            threads_.push_back(thread);
        }
        RingOwner& before = own();
        if (before.thread != nullptr) before.thread->ended.store(true, std::memory_order_release);
        before.thread = std::move(thread);
        local_ = {generation_, before.thread.get(), false};
        if (on_thread_) on_thread_();
        return local_.thread;
    } catch (const std::exception&) {
        refused_.fetch_add(1, std::memory_order_relaxed);
        return nullptr;
    }
}

void HostRecorder::afterForkInChild() noexcept {
    // Includes the thread's own ring: it still holds records that the parent will write.
    threads_.clear();
    local_ = {0, nullptr, local_.ending};
    if (!local_.ending) own().thread.reset();
    generation_ = nextGeneration();
    mutex_.unlock();
}

} // namespace bubblescope::profiler
