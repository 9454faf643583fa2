// Programs, and the library that is loaded into jobs, run on clusters whose C library may be years older than that of
// the machine they were built on. For functions with a new version since glibc 2.28, this file selects the old version,
// or implements them with older functions. Everything in it is hidden: it does not affect the calls of others, such as
// the job's own.

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#if defined(__x86_64__) && defined(__GLIBC__)

// NOLINTBEGIN: names and types are those of the C library.
#define BUBBLESCOPE_HIDDEN extern "C" __attribute__((visibility("hidden")))

// A hidden function that jumps to the old version, whatever its parameters are. Each is in a section of its own, so
// that the linker drops the ones that nobody calls.
#define BUBBLESCOPE_OLD_AS(name, old_name, version)                            \
    asm(".symver bubblescope_old_" #name ", " #old_name "@GLIBC_" version "\n" \
        ".pushsection .text.bubblescope_old_" #name ", \"ax\", @progbits\n"    \
        ".globl " #name "\n"                                                   \
        ".hidden " #name "\n"                                                  \
        ".type " #name ", @function\n" #name ":\n"                             \
        "endbr64\n"                                                            \
        "jmp *bubblescope_old_" #name "@GOTPCREL(%rip)\n"                      \
        ".size " #name ", . - " #name "\n"                                     \
        ".popsection");
#define BUBBLESCOPE_OLD(name) BUBBLESCOPE_OLD_AS(name, name, "2.2.5")

// Functions of other libraries than libc before glibc 2.34.
BUBBLESCOPE_OLD(dladdr)
BUBBLESCOPE_OLD(dlclose)
BUBBLESCOPE_OLD(dlerror)
BUBBLESCOPE_OLD(dlopen)
BUBBLESCOPE_OLD(dlsym)
BUBBLESCOPE_OLD(dlvsym)
BUBBLESCOPE_OLD(pthread_create)
BUBBLESCOPE_OLD(pthread_detach)
BUBBLESCOPE_OLD(pthread_getspecific)
BUBBLESCOPE_OLD(pthread_join)
BUBBLESCOPE_OLD(pthread_key_create)
BUBBLESCOPE_OLD(pthread_key_delete)
BUBBLESCOPE_OLD(pthread_kill)
BUBBLESCOPE_OLD(pthread_mutex_trylock)
BUBBLESCOPE_OLD(pthread_mutexattr_destroy)
BUBBLESCOPE_OLD(pthread_mutexattr_init)
BUBBLESCOPE_OLD(pthread_mutexattr_setpshared)
BUBBLESCOPE_OLD(pthread_mutexattr_settype)
BUBBLESCOPE_OLD(pthread_once)
BUBBLESCOPE_OLD(pthread_rwlock_destroy)
BUBBLESCOPE_OLD(pthread_rwlock_init)
BUBBLESCOPE_OLD(pthread_rwlock_rdlock)
BUBBLESCOPE_OLD(pthread_rwlock_timedrdlock)
BUBBLESCOPE_OLD(pthread_rwlock_timedwrlock)
BUBBLESCOPE_OLD(pthread_rwlock_tryrdlock)
BUBBLESCOPE_OLD(pthread_rwlock_trywrlock)
BUBBLESCOPE_OLD(pthread_rwlock_unlock)
BUBBLESCOPE_OLD(pthread_rwlock_wrlock)
BUBBLESCOPE_OLD(pthread_rwlockattr_destroy)
BUBBLESCOPE_OLD(pthread_rwlockattr_init)
BUBBLESCOPE_OLD(pthread_rwlockattr_setpshared)
BUBBLESCOPE_OLD(pthread_setspecific)
BUBBLESCOPE_OLD(pthread_sigmask)
BUBBLESCOPE_OLD(pthread_spin_destroy)
BUBBLESCOPE_OLD(pthread_spin_init)
BUBBLESCOPE_OLD(pthread_spin_lock)
BUBBLESCOPE_OLD(pthread_spin_trylock)
BUBBLESCOPE_OLD(pthread_spin_unlock)
BUBBLESCOPE_OLD(sem_destroy)
BUBBLESCOPE_OLD(sem_init)
BUBBLESCOPE_OLD(sem_post)
BUBBLESCOPE_OLD(sem_timedwait)
BUBBLESCOPE_OLD(sem_trywait)
BUBBLESCOPE_OLD(sem_wait)
BUBBLESCOPE_OLD(shm_open)
BUBBLESCOPE_OLD(shm_unlink)
BUBBLESCOPE_OLD_AS(dlmopen, dlmopen, "2.3.4")
BUBBLESCOPE_OLD_AS(pthread_condattr_setclock, pthread_condattr_setclock, "2.3.3")
BUBBLESCOPE_OLD_AS(pthread_condattr_setpshared, pthread_condattr_setpshared, "2.2.5")
BUBBLESCOPE_OLD_AS(pthread_getname_np, pthread_getname_np, "2.12")
BUBBLESCOPE_OLD_AS(pthread_setname_np, pthread_setname_np, "2.12")
BUBBLESCOPE_OLD_AS(pthread_setaffinity_np, pthread_setaffinity_np, "2.3.4")
BUBBLESCOPE_OLD_AS(pthread_getaffinity_np, pthread_getaffinity_np, "2.3.4")
BUBBLESCOPE_OLD_AS(timer_create, timer_create, "2.3.3")
BUBBLESCOPE_OLD_AS(timer_delete, timer_delete, "2.3.3")
BUBBLESCOPE_OLD_AS(timer_settime, timer_settime, "2.3.3")
// The C++ runtime calls it by the name that it has had since glibc 2.34.
BUBBLESCOPE_OLD_AS(__pthread_key_create, pthread_key_create, "2.2.5")

// Since glibc 2.29 they do not set errno by a function of the program. The numbers are those of 2.28.
BUBBLESCOPE_OLD(exp)
BUBBLESCOPE_OLD(exp2)
BUBBLESCOPE_OLD(log)
BUBBLESCOPE_OLD(log2)
BUBBLESCOPE_OLD(pow)

// Since glibc 2.38, the headers and the C++ runtime call these functions by new names, which also accept binary
// numbers.
BUBBLESCOPE_OLD_AS(__isoc23_strtol, strtol, "2.2.5")
BUBBLESCOPE_OLD_AS(__isoc23_strtoul, strtoul, "2.2.5")
BUBBLESCOPE_OLD_AS(__isoc23_strtoll, strtoll, "2.2.5")
BUBBLESCOPE_OLD_AS(__isoc23_strtoull, strtoull, "2.2.5")
BUBBLESCOPE_OLD_AS(__isoc23_sscanf, sscanf, "2.2.5")

/// Programs and jobs have threads: if this were set, the C++ runtime would count references without atomic operations.
BUBBLESCOPE_HIDDEN char __libc_single_threaded;
char __libc_single_threaded = 0;

BUBBLESCOPE_HIDDEN int stat(const char* path, struct stat* about) noexcept {
    return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, about, 0));
}
BUBBLESCOPE_HIDDEN int lstat(const char* path, struct stat* about) noexcept {
    return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, about, AT_SYMLINK_NOFOLLOW));
}
BUBBLESCOPE_HIDDEN int fstat(int descriptor, struct stat* about) noexcept {
    return static_cast<int>(::syscall(SYS_fstat, descriptor, about));
}
BUBBLESCOPE_HIDDEN int stat64(const char* path, struct stat64* about) noexcept {
    return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, about, 0));
}
BUBBLESCOPE_HIDDEN int lstat64(const char* path, struct stat64* about) noexcept {
    return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, about, AT_SYMLINK_NOFOLLOW));
}
BUBBLESCOPE_HIDDEN int fstat64(int descriptor, struct stat64* about) noexcept {
    return static_cast<int>(::syscall(SYS_fstat, descriptor, about));
}

BUBBLESCOPE_HIDDEN int fstatat(int folder, const char* path, struct stat* about, int flags) noexcept {
    return static_cast<int>(::syscall(SYS_newfstatat, folder, path, about, flags));
}
BUBBLESCOPE_HIDDEN pid_t gettid() noexcept {
    return static_cast<pid_t>(::syscall(SYS_gettid));
}

/// Without a clock of its own: the deadline is moved to the wall clock. Callers check their condition again after it.
BUBBLESCOPE_HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                              const timespec* deadline) {
    if (clock == CLOCK_REALTIME) return ::pthread_cond_timedwait(condition, mutex, deadline);
    constexpr long kSecond = 1'000'000'000; // nanoseconds
    timespec now{};
    timespec wall{};
    if (::clock_gettime(clock, &now) != 0 || ::clock_gettime(CLOCK_REALTIME, &wall) != 0) return EINVAL;
    wall.tv_sec += deadline->tv_sec - now.tv_sec;
    wall.tv_nsec += deadline->tv_nsec - now.tv_nsec;
    if (wall.tv_nsec < 0) {
        wall.tv_nsec += kSecond;
        --wall.tv_sec;
    } else if (wall.tv_nsec >= kSecond) {
        wall.tv_nsec -= kSecond;
        ++wall.tv_sec;
    }
    return ::pthread_cond_timedwait(condition, mutex, &wall);
}

BUBBLESCOPE_HIDDEN void arc4random_buf(void* bytes, std::size_t size) noexcept {
    auto* at = static_cast<unsigned char*>(bytes);
    while (size > 0) {
        const ssize_t got = ::getrandom(at, size, 0);
        if (got < 0 && errno != EINTR) std::abort(); // as glibc does
        if (got <= 0) continue;
        at += got;
        size -= static_cast<std::size_t>(got);
    }
}
BUBBLESCOPE_HIDDEN std::uint32_t arc4random() noexcept {
    std::uint32_t number = 0;
    arc4random_buf(&number, sizeof number);
    return number;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
namespace {

struct Wanted {
    std::uintptr_t address;
    dl_find_object* found;
};

int findIn(dl_phdr_info* object, std::size_t, void* data) {
    const auto& wanted = *static_cast<Wanted*>(data);
    const ElfW(Phdr)* frames = nullptr;
    bool holds = false;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = object->dlpi_phdr[i];
        const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
        if (part.p_type == PT_GNU_EH_FRAME) frames = &part;
        if (part.p_type != PT_LOAD || wanted.address < begin || wanted.address >= begin + part.p_memsz) continue;
        holds = true;
        wanted.found->dlfo_map_start = reinterpret_cast<void*>(begin);
        wanted.found->dlfo_map_end = reinterpret_cast<void*>(begin + part.p_memsz);
    }
    if (!holds || frames == nullptr) return 0;
    wanted.found->dlfo_eh_frame = reinterpret_cast<void*>(object->dlpi_addr + frames->p_vaddr);
    return 1;
}

} // namespace

/// Exceptions use it to find the frames that they unwind.
BUBBLESCOPE_HIDDEN int _dl_find_object(void* address, dl_find_object* found) noexcept {
    *found = {};
    Wanted wanted{reinterpret_cast<std::uintptr_t>(address), found};
    return ::dl_iterate_phdr(findIn, &wanted) == 1 ? 0 : -1;
}
#endif
// NOLINTEND
#endif
