#include "core/formats/source/packing.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace bubblescope {

std::optional<ByteBuffer> ByteBuffer::atFixedPlace(std::size_t capacity) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
    flags |= MAP_NORESERVE;
#endif
    void* const place = ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (place == MAP_FAILED) return std::nullopt;
#ifdef MADV_HUGEPAGE
    ::madvise(place, capacity, MADV_HUGEPAGE); // a wish: most of the time would go into making small ones
#endif
    ByteBuffer buffer;
    buffer.bytes_ = std::unique_ptr<char, Free>(static_cast<char*>(place), Free{capacity});
    buffer.capacity_ = capacity;
    return buffer;
}

void ByteBuffer::release(std::size_t begin, std::size_t end) {
    if (bytes_.get_deleter().mapped == 0) return;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t first = (begin + page - 1) / page * page; // the buffer begins with a page
    const std::size_t last = std::min(end, size_) / page * page;
    if (first < last) ::madvise(bytes_.get() + first, last - first, MADV_DONTNEED);
}

void ByteBuffer::Free::operator()(char* bytes) const {
    if (mapped > 0)
        ::munmap(bytes, mapped);
    else
        std::free(bytes);
}

} // namespace bubblescope
