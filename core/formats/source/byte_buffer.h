#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>

namespace bubblescope {

/// Bytes that grow at the end. Unlike a string's, new room is not filled with zeros first, which for gigabytes that
/// are about to be overwritten takes as long as unpacking them; and large ones grow without being copied where the
/// system can move pages.
class ByteBuffer {
public:
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t room() const { return capacity_ - size_; }
    [[nodiscard]] char* end() { return bytes_.get() + size_; }
    [[nodiscard]] std::string_view text() const { return {bytes_.get(), size_}; }

    /// Bytes that were written at end().
    void grew(std::size_t count) { size_ += count; }

    void reserve(std::size_t capacity) {
        if (capacity <= capacity_) return;
        char* const grown = static_cast<char*>(std::realloc(bytes_.get(), capacity));
        if (grown == nullptr) throw std::bad_alloc{};
        (void)bytes_.release();
        bytes_.reset(grown);
        capacity_ = capacity;
    }

private:
    struct Free {
        void operator()(char* bytes) const { std::free(bytes); }
    };

    std::unique_ptr<char, Free> bytes_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

} // namespace bubblescope
