#include "core/base/large_list.h"

#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>

namespace bubblescope {

void adviseLargePages([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
    constexpr std::size_t kFewest = 4 << 20; // large enough to contain a complete large page of 2 MiB
    if (bytes < kFewest) return;
    static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t from = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
    const std::uintptr_t to = (reinterpret_cast<std::uintptr_t>(begin) + bytes) / page * page;
    ::madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE); // if this fails, pages stay small
#endif
}

} // namespace bubblescope
