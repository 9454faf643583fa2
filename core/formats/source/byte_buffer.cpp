#include "core/formats/source/packing.h"

#include "core/base/per_thread.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace bubblescope {
namespace {

/// Memory is released and moved in units of this size, one or two large pages.
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
    ::madvise(place, addresses,
              MADV_HUGEPAGE); // a hint: otherwise most of the time would go into allocating small pages
#endif
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(place) % kUnit;
    ByteBuffer buffer;
    buffer.bytes_ = std::unique_ptr<char, Free>(static_cast<char*>(place) + (beyond == 0 ? 0 : kUnit - beyond),
                                                Free(addresses, place));
    buffer.capacity_ = capacity;
    return buffer;
}

/// A few megabytes in large pages that buffers are cut from, one after another.
class ByteBuffer::SharedPlace {
public:
    static constexpr std::size_t kBytes = std::size_t{8} << 20;
    static constexpr std::size_t kLargePage = std::size_t{2} << 20;

    /// Null if the system does not report large pages.
    static std::shared_ptr<SharedPlace> make() {
#ifdef MADV_HUGEPAGE
        if (char* const kept = spare().exchange(nullptr); kept != nullptr)
            return std::shared_ptr<SharedPlace>(new SharedPlace(kept));
        void* const place = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (place == MAP_FAILED) return nullptr;
        if (::madvise(place, kBytes, MADV_HUGEPAGE) != 0) {
            ::munmap(place, kBytes); // nor may it be kept as a spare
            return nullptr;
        }
        return std::shared_ptr<SharedPlace>(new SharedPlace(static_cast<char*>(place)));
#else
        return nullptr;
#endif
    }
    ~SharedPlace() {
#ifdef MADV_FREE
        // One is kept as a spare, whose pages the system may take when it needs them. Until then its 8 MB count as the
        // process's memory in monitoring tools.
        char* none = nullptr;
        if (::madvise(place_, kBytes, MADV_FREE) == 0 && spare().compare_exchange_strong(none, place_)) return;
#endif
        ::munmap(place_, kBytes);
    }
    SharedPlace(const SharedPlace&) = delete;
    SharedPlace& operator=(const SharedPlace&) = delete;

    /// Null if there is no room for `bytes` more.
    [[nodiscard]] char* cut(std::size_t bytes) {
        constexpr std::size_t kLine = 64;
        if (kBytes - used_ < bytes) return nullptr;
        char* const begin = place_ + used_;
        used_ = std::min(kBytes, (used_ + bytes + kLine - 1) / kLine * kLine);
        return begin;
    }

private:
    explicit SharedPlace(char* place)
        : place_(place), used_((kLargePage - reinterpret_cast<std::uintptr_t>(place) % kLargePage) % kLargePage) {
    } // loses a small page

    /// The memory of a finished load, for the next one: clearing new pages takes a tenth of the time of a small load.
    static std::atomic<char*>& spare() {
        static std::atomic<char*> kept{nullptr};
        return kept;
    }

    char* place_;
    std::size_t used_;
};

ByteBuffer ByteBuffer::besideOthers(std::size_t capacity) {
    auto& latest = perThread<std::weak_ptr<SharedPlace>>();
    constexpr std::size_t kMost = std::size_t{4} << 20;
    constexpr std::size_t kLeast = std::size_t{512} << 10; // worth a separate large page
    std::shared_ptr<SharedPlace> place = latest.lock();
    char* bytes = place == nullptr ? nullptr : place->cut(capacity);
    if (bytes == nullptr && capacity >= kLeast && capacity <= kMost) {
        place = SharedPlace::make();
        latest = place;
        bytes = place == nullptr ? nullptr : place->cut(capacity);
    }
    ByteBuffer buffer;
    if (bytes == nullptr) {
        buffer.reserve(capacity);
        return buffer;
    }
    buffer.bytes_ = std::unique_ptr<char, Free>(bytes, Free(std::move(place)));
    buffer.capacity_ = capacity;
    return buffer;
}

/// There is more data than expected.
void ByteBuffer::leavePlace(std::size_t capacity) {
    auto* const bytes = static_cast<char*>(std::malloc(capacity)); // NOLINT(cppcoreguidelines-no-malloc)
    if (bytes == nullptr) throw std::bad_alloc{};
    std::memcpy(bytes, bytes_.get(), size_);
    bytes_ = std::unique_ptr<char, Free>(bytes, Free());
    capacity_ = capacity;
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
    else if (shared == nullptr)
        std::free(bytes);
}

} // namespace bubblescope
