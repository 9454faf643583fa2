// Loaded with LD_PRELOAD: makes one call of a program fail, as on a machine without memory, space or descriptors.
//   BUBBLESCOPE_FAIL_CALL     malloc (all allocations), write, read, open, mmap, accept, pthread_create, fsync, rename
//   BUBBLESCOPE_FAIL_AT       the call that fails, counted from 1; with a + behind it, all later calls fail too;
//                             0 for none: the places that call are noted then
//   BUBBLESCOPE_FAIL_PROGRAM  the name of the program in which calls are counted; others are left alone
//   BUBBLESCOPE_FAIL_COUNT    a file of CallCounts, which all such processes share, however they end
// Calls before main() are not counted: nothing in the program could handle their failure.

#include "tests/injection/call_counts.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio_ext.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

enum class Call { None, Malloc, Write, Read, Open, Mmap, Accept, Thread, Sync, Rename };

struct Names {
    Call call;
    const char* name;
    int error; ///< what the failing call reports
};
constexpr Names kCalls[] = {
    {Call::Malloc, "malloc", ENOMEM},
    {Call::Write, "write", ENOSPC},
    {Call::Read, "read", EIO},
    {Call::Open, "open", EMFILE},
    {Call::Mmap, "mmap", ENOMEM},
    {Call::Accept, "accept", EMFILE},
    {Call::Thread, "pthread_create", EAGAIN},
    {Call::Sync, "fsync", EIO},
    {Call::Rename, "rename", EIO},
};

Call wanted = Call::None;
int error_number = 0;
std::uint64_t first = 0;
bool later_too = false;
bubblescope::injection::CallCounts* counts = nullptr; ///< null before main()

/// A hash of the innermost callers.
std::uint64_t callers() {
    struct Walk {
        std::uint64_t hash = 0;
        int depth = 0;
    } walk;
    const auto visit = [](_Unwind_Context* frame, void* argument) {
        constexpr int kDeepest = 5;
        auto& seen = *static_cast<Walk*>(argument);
        constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15; // 2^64 divided by the golden ratio
        seen.hash = (seen.hash ^ _Unwind_GetIP(frame)) * kFactor;
        seen.hash ^= seen.hash >> 29;
        return ++seen.depth < kDeepest ? _URC_NO_REASON : _URC_END_OF_STACK;
    };
    _Unwind_Backtrace(visit, &walk);
    return walk.hash | 1;
}

/// Notes the number of the call if nothing called from here before.
void notePlace(std::uint64_t number) {
    static std::atomic<std::uint64_t> known[bubblescope::injection::CallCounts::kPlaces * 2];
    static thread_local bool within __attribute__((tls_model("initial-exec"))) = false;
    if (within) return;
    within = true;
    const std::uint64_t place = callers();
    within = false;
    for (std::size_t i = place >> 8, tries = 0; tries < std::size(known); ++i, ++tries) {
        std::atomic<std::uint64_t>& slot = known[i % std::size(known)];
        std::uint64_t expected = 0;
        if (slot.compare_exchange_strong(expected, place)) break;
        if (expected == place) return;
    }
    const std::uint64_t at = counts->places.fetch_add(1);
    if (at < std::size(counts->first_calls)) counts->first_calls[at] = number;
}

bool fails(Call call) {
    if (call != wanted || counts == nullptr) return false;
    const std::uint64_t number = counts->calls.fetch_add(1) + 1;
    if (first == 0) notePlace(number);
    if (first == 0 || (later_too ? number < first : number != first)) return false;
    errno = error_number;
    return true;
}

template <class Function>
Function* next(Function* /*replaced*/, const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void begin() {
    const char* const call = std::getenv("BUBBLESCOPE_FAIL_CALL");
    const char* const at = std::getenv("BUBBLESCOPE_FAIL_AT");
    const char* const program = std::getenv("BUBBLESCOPE_FAIL_PROGRAM");
    const char* const shared = std::getenv("BUBBLESCOPE_FAIL_COUNT");
    if (call == nullptr || at == nullptr || program == nullptr || shared == nullptr) return;
    if (std::strcmp(program, ::program_invocation_short_name) != 0) return;
    for (const Names& known : kCalls) {
        if (std::strcmp(known.name, call) != 0) continue;
        wanted = known.call;
        error_number = known.error;
    }
    char* end = nullptr;
    first = std::strtoull(at, &end, 10);
    later_too = *end == '+';
    const int file = ::open(shared, O_RDWR | O_CLOEXEC);
    void* const page = ::mmap(nullptr, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (page == MAP_FAILED) std::abort();
    counts = static_cast<bubblescope::injection::CallCounts*>(page);
}

} // namespace

#define NEXT(name) static const auto real = next(&name, #name)

#pragma GCC visibility push(default) // they replace functions of other libraries
extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
    NEXT(__libc_start_main);
    static auto* const program = main;
    const auto counted = [](int count, char** words, char** variables) {
        begin();
        return program(count, words, variables);
    };
    return real(counted, argc, argv, init, fini, rtld_fini, stack_end);
}

void* malloc(std::size_t size) {
    return fails(Call::Malloc) ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
    return fails(Call::Malloc) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
    return fails(Call::Malloc) ? nullptr : __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
    return fails(Call::Malloc) ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    return fails(Call::Malloc) ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
    if (fails(Call::Malloc)) return ENOMEM;
    *result = __libc_memalign(alignment, size);
    return *result == nullptr ? ENOMEM : 0;
}

ssize_t write(int file, const void* bytes, std::size_t size) {
    NEXT(write);
    return fails(Call::Write) ? -1 : real(file, bytes, size);
}
ssize_t writev(int file, const iovec* pieces, int count) {
    NEXT(writev);
    return fails(Call::Write) ? -1 : real(file, pieces, count);
}
ssize_t pwrite(int file, const void* bytes, std::size_t size, off_t at) {
    NEXT(pwrite);
    return fails(Call::Write) ? -1 : real(file, bytes, size, at);
}
ssize_t pwrite64(int file, const void* bytes, std::size_t size, off64_t at) {
    NEXT(pwrite64);
    return fails(Call::Write) ? -1 : real(file, bytes, size, at);
}
/// Streams write inside the C library; their owner must look at what this says.
int fflush(FILE* stream) {
    NEXT(fflush);
    const bool writes = stream != nullptr && ::__fpending(stream) > 0;
    return writes && fails(Call::Write) ? EOF : real(stream);
}

ssize_t read(int file, void* bytes, std::size_t size) {
    NEXT(read);
    return fails(Call::Read) ? -1 : real(file, bytes, size);
}
ssize_t pread(int file, void* bytes, std::size_t size, off_t at) {
    NEXT(pread);
    return fails(Call::Read) ? -1 : real(file, bytes, size, at);
}
ssize_t pread64(int file, void* bytes, std::size_t size, off64_t at) {
    NEXT(pread64);
    return fails(Call::Read) ? -1 : real(file, bytes, size, at);
}
std::size_t fread(void* bytes, std::size_t size, std::size_t count, FILE* stream) {
    NEXT(fread);
    return fails(Call::Read) ? 0 : real(bytes, size, count, stream);
}

#define OPENING(name)                                            \
    int name(const char* path, int flags, ...) {                 \
        NEXT(name);                                              \
        std::va_list rest;                                       \
        va_start(rest, flags);                                   \
        const auto mode = va_arg(rest, mode_t);                  \
        va_end(rest);                                            \
        return fails(Call::Open) ? -1 : real(path, flags, mode); \
    }
OPENING(open)
OPENING(open64)
#undef OPENING
FILE* fopen(const char* path, const char* mode) {
    NEXT(fopen);
    return fails(Call::Open) ? nullptr : real(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
    NEXT(fopen64);
    return fails(Call::Open) ? nullptr : real(path, mode);
}

void* mmap(void* address, std::size_t size, int protection, int flags, int file, off_t at) {
    NEXT(mmap);
    return fails(Call::Mmap) ? MAP_FAILED : real(address, size, protection, flags, file, at);
}
void* mmap64(void* address, std::size_t size, int protection, int flags, int file, off64_t at) {
    NEXT(mmap64);
    return fails(Call::Mmap) ? MAP_FAILED : real(address, size, protection, flags, file, at);
}

int accept(int listening, sockaddr* address, socklen_t* size) {
    NEXT(accept);
    return fails(Call::Accept) ? -1 : real(listening, address, size);
}
int accept4(int listening, sockaddr* address, socklen_t* size, int flags) {
    NEXT(accept4);
    return fails(Call::Accept) ? -1 : real(listening, address, size, flags);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* with) {
    NEXT(pthread_create);
    return fails(Call::Thread) ? EAGAIN : real(thread, attributes, work, with);
}

int fsync(int file) {
    NEXT(fsync);
    return fails(Call::Sync) ? -1 : real(file);
}
int fdatasync(int file) {
    NEXT(fdatasync);
    return fails(Call::Sync) ? -1 : real(file);
}

int rename(const char* from, const char* to) {
    NEXT(rename);
    return fails(Call::Rename) ? -1 : real(from, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned how) {
    NEXT(renameat2);
    return fails(Call::Rename) ? -1 : real(from_folder, from, to_folder, to, how);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) {
    NEXT(renameat);
    return fails(Call::Rename) ? -1 : real(from_folder, from, to_folder, to);
}

} // extern "C"
#pragma GCC visibility pop
