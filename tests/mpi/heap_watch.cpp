// Allocation functions that count, in front of glibc's own. Sanitizers have their own, so nothing is counted with them.

#include "tests/mpi/heap_watch.h"

#include "tests/support/sanitized.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <malloc.h>

namespace {

std::atomic<std::int64_t> held{0};
std::atomic<std::int64_t> peak{0};

} // namespace

namespace bubblescope::test {

std::int64_t heapBytes() {
    return held;
}

std::int64_t heapPeak() {
    return peak;
}

void watchHeap() {
    peak = held.load();
}

} // namespace bubblescope::test

#if defined(__GLIBC__) && !BUBBLESCOPE_SANITIZED

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

} // extern "C"

namespace {

void* taken(void* block) {
    const auto now = held += static_cast<std::int64_t>(::malloc_usable_size(block));
    for (std::int64_t most = peak; now > most && !peak.compare_exchange_weak(most, now);) {
    }
    return block;
}

void given(void* block) {
    held -= static_cast<std::int64_t>(::malloc_usable_size(block));
}

} // namespace

extern "C" {

void* malloc(std::size_t size) {
    return taken(__libc_malloc(size));
}

void* calloc(std::size_t count, std::size_t size) {
    return taken(__libc_calloc(count, size));
}

void* realloc(void* block, std::size_t size) {
    given(block);
    void* const moved = __libc_realloc(block, size);
    if (moved == nullptr && size != 0) {
        taken(block);
        return nullptr;
    }
    return taken(moved);
}

void* memalign(std::size_t alignment, std::size_t size) {
    return taken(__libc_memalign(alignment, size));
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
    *block = memalign(alignment, size);
    return *block == nullptr ? ENOMEM : 0;
}

void free(void* block) {
    given(block);
    __libc_free(block);
}

} // extern "C"

#endif
