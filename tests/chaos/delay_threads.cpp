// Loaded with LD_PRELOAD: delays the threads of a program at random where they meet others, as a busy machine does:
// at locks, condition variables, semaphores, futexes, pipes and sockets. BUBBLESCOPE_CHAOS is the seed; without it
// nothing is delayed. A seed repeats the delays of each thread, not how the kernel schedules them.

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

/// Without a static whose initialisation is guarded: a thread that waits for a guard calls syscall(), which is
/// replaced.
#define NEXT(name)                                           \
    static std::atomic<void*> found = nullptr;               \
    if (found == nullptr) found = ::dlsym(RTLD_NEXT, #name); \
    auto* const real = reinterpret_cast<decltype(&name)>(found.load())

/// splitmix64
std::uint64_t mixed(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

std::uint64_t seedOfProgram() {
    constexpr std::uint64_t kUnknown = 2; // seeds are odd or 0
    static std::atomic<std::uint64_t> seed = kUnknown;
    if (seed == kUnknown) {
        const char* const text = std::getenv("BUBBLESCOPE_CHAOS");
        seed = text == nullptr ? 0 : mixed(std::strtoull(text, nullptr, 10)) | 1;
    }
    return seed;
}

class Thread {
public:
    void delay() {
        if (seedOfProgram() == 0) return;
        if (state_ == 0) state_ = mixed(seedOfProgram() + threads.fetch_add(1));
        // For a while a thread is hurried, delayed like others, or held up at nearly every point.
        if (left_-- <= 0) {
            left_ = static_cast<int>(random() % 256);
            constexpr std::uint64_t kRarities[]{1024, 128, 128, 8};
            constexpr std::uint64_t kSeldom = 16'384; // for threads with very many points
            rarity_ = slept_ < kMostSleep ? kRarities[random() % 4] : kSeldom;
        }
        if (random() % rarity_ != 0) return;
        const int error = errno;
        const std::uint64_t kind = random() % 8;
        constexpr std::uint64_t kShort = 100'000; // ns
        constexpr std::uint64_t kLong = 3'000'000;
        sleep(random() % (kind < 7 ? kShort : kLong));
        errno = error;
    }

private:
    static constexpr std::uint64_t kMostSleep = 30'000'000;

    void sleep(std::uint64_t nanoseconds) {
        slept_ += nanoseconds;
        const timespec time{0, static_cast<long>(nanoseconds)};
        ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
    }
    std::uint64_t random() { return mixed(state_++); }

    static inline std::atomic<std::uint64_t> threads{0};
    std::uint64_t state_ = 0;
    std::uint64_t rarity_ = 1;
    std::uint64_t slept_ = 0; ///< ns
    int left_ = 0;
};

void delay() {
    static thread_local Thread thread __attribute__((tls_model("initial-exec")));
    thread.delay();
}

/// A call with a delay before and after it.
template <class Function, class... Arguments>
auto delayed(Function* real, Arguments... arguments) {
    delay();
    const auto result = real(arguments...);
    delay();
    return result;
}

} // namespace

#pragma GCC visibility push(default) // they replace functions of the C library
extern "C" {

#define DELAYED(result, name, parameters, ...) \
    result name parameters {                   \
        NEXT(name);                            \
        return delayed(real, __VA_ARGS__);     \
    }
DELAYED(int, pthread_mutex_lock, (pthread_mutex_t * mutex), mutex)
DELAYED(int, pthread_mutex_trylock, (pthread_mutex_t * mutex), mutex)
DELAYED(int, pthread_mutex_unlock, (pthread_mutex_t * mutex), mutex)
DELAYED(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), lock)
DELAYED(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), lock)
DELAYED(int, pthread_rwlock_unlock, (pthread_rwlock_t * lock), lock)
DELAYED(int, pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t* mutex), condition, mutex)
DELAYED(int, pthread_cond_timedwait, (pthread_cond_t * condition, pthread_mutex_t* mutex, const timespec* time),
        condition, mutex, time)
DELAYED(int, pthread_cond_clockwait,
        (pthread_cond_t * condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* time), condition, mutex,
        clock, time)
DELAYED(int, pthread_cond_signal, (pthread_cond_t * condition), condition)
DELAYED(int, pthread_cond_broadcast, (pthread_cond_t * condition), condition)
DELAYED(int, sem_wait, (sem_t * semaphore), semaphore)
DELAYED(int, sem_post, (sem_t * semaphore), semaphore)
DELAYED(ssize_t, read, (int file, void* bytes, std::size_t size), file, bytes, size)
DELAYED(ssize_t, write, (int file, const void* bytes, std::size_t size), file, bytes, size)
DELAYED(ssize_t, send, (int socket, const void* bytes, std::size_t size, int flags), socket, bytes, size, flags)
DELAYED(ssize_t, recv, (int socket, void* bytes, std::size_t size, int flags), socket, bytes, size, flags)
DELAYED(ssize_t, sendmsg, (int socket, const msghdr* message, int flags), socket, message, flags)
DELAYED(ssize_t, recvmsg, (int socket, msghdr* message, int flags), socket, message, flags)
DELAYED(int, accept4, (int listening, sockaddr* address, socklen_t* size, int flags), listening, address, size, flags)
DELAYED(int, poll, (pollfd * files, nfds_t count, int time), files, count, time)
DELAYED(int, close, (int file), file)
DELAYED(int, pthread_join, (pthread_t thread, void** result), thread, result)
#undef DELAYED

/// std::atomic waits and wakes with it.
long syscall(long number, ...) {
    NEXT(syscall);
    std::va_list rest;
    va_start(rest, number);
    long word[6];
    for (long& each : word)
        each = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_futex) delay();
    return real(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* with) {
    NEXT(pthread_create);
    struct Work {
        void* (*work)(void*);
        void* with;
    };
    const auto begin = [](void* held) -> void* {
        const Work todo = *static_cast<Work*>(held);
        delete static_cast<Work*>(held);
        delay();
        return todo.work(todo.with);
    };
    auto* const held = new Work{work, with};
    const int failed =
        delayed(real, thread, attributes, static_cast<void* (*)(void*)>(begin), static_cast<void*>(held));
    if (failed != 0) delete held;
    return failed;
}

} // extern "C"
#pragma GCC visibility pop
