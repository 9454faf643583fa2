#include "core/formats/source/packing.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace bubblescope {
namespace {

/// Memory is given back and moved in such units: one or two large pages.
constexpr std::size_t kUnit = std::size_t{4} << 20;

constexpr std::size_t unitsDown(std::size_t bytes) {
    return bytes / kUnit * kUnit;
}

constexpr std::size_t unitsUp(std::size_t bytes) {
    return unitsDown(bytes + kUnit - 1);
}

bool moveMemory([[maybe_unused]] char* from, [[maybe_unused]] char* to) {
#ifdef MREMAP_DONTUNMAP
    return ::mremap(from, kUnit, kUnit, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) != MAP_FAILED;
#else
    return false;
#endif
}

} // namespace

std::optional<ByteBuffer> ByteBuffer::atFixedPlace(std::size_t capacity) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
    flags |= MAP_NORESERVE;
#endif
    const std::size_t addresses = capacity + kUnit;
    void* const place = ::mmap(nullptr, addresses, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (place == MAP_FAILED) return std::nullopt;
#ifdef MADV_HUGEPAGE
    ::madvise(place, addresses, MADV_HUGEPAGE); // a wish: most of the time would go into making small ones
#endif
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(place) % kUnit;
    ByteBuffer buffer;
    buffer.bytes_ = std::unique_ptr<char, Free>(static_cast<char*>(place) + (beyond == 0 ? 0 : kUnit - beyond),
                                                Free(addresses, place));
    buffer.capacity_ = capacity;
    return buffer;
}

void ByteBuffer::release(std::size_t end) {
    released_ = std::max(released_, unitsDown(end));
    if (moves_left_ == 0) giveBackReleased();
}

void ByteBuffer::reuseReleased(std::size_t size) {
    backed_ = std::max(backed_, unitsUp(size_));
    while (moves_left_ > 0 && reused_ < released_ && backed_ < size_ + size && backed_ + kUnit <= capacity_) {
        --moves_left_;
        if (!moveMemory(bytes_.get() + reused_, bytes_.get() + backed_)) moves_left_ = 0;
        if (moves_left_ == 0) break;
        reused_ += kUnit;
        backed_ += kUnit;
    }
    if (moves_left_ == 0) giveBackReleased();
}

void ByteBuffer::giveBackReleased() {
    moves_left_ = 0;
    if (bytes_.get_deleter().mapped > 0 && reused_ < released_)
        ::madvise(bytes_.get() + reused_, released_ - reused_, MADV_DONTNEED);
    reused_ = released_;
}

void ByteBuffer::Free::operator()(char* bytes) const {
    if (mapped > 0)
        ::munmap(place, mapped);
    else
        std::free(bytes);
}

} // namespace bubblescope
