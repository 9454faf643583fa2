#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace bubblescope::profiler {

/// A counter that threads can wait on until it increases. Unlike a condition variable, it has no state that a fork
/// could corrupt, and its timeouts do not depend on the wall clock.
class Wakeup {
public:
    [[nodiscard]] std::uint32_t number() const { return number_.load(std::memory_order_acquire); }
    void raise() noexcept {
        number_.fetch_add(1, std::memory_order_release);
        ::syscall(SYS_futex, word(), FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
    }
    /// Returns when the counter differs from `seen`, or after the timeout. May return early.
    void wait(std::uint32_t seen, std::chrono::nanoseconds at_most) noexcept {
        if (number() != seen || at_most <= std::chrono::nanoseconds(0)) return;
        const auto whole = std::chrono::duration_cast<std::chrono::seconds>(at_most);
        timespec time{};
        time.tv_sec = static_cast<std::time_t>(whole.count());
        time.tv_nsec = static_cast<long>((at_most - whole).count());
        ::syscall(SYS_futex, word(), FUTEX_WAIT_PRIVATE, seen, &time, nullptr, 0);
    }

private:
    std::uint32_t* word() noexcept { return reinterpret_cast<std::uint32_t*>(&number_); }
    static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

    std::atomic<std::uint32_t> number_{0};
};

} // namespace bubblescope::profiler
