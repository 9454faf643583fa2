#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace bubblescope {

/// Bytes that grow at the end. Unlike a string's, new room is not filled with zeros first, which for gigabytes that
/// are about to be overwritten takes as long as unpacking them.
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
        std::unique_ptr<char[]> bytes(new char[capacity]);
        if (size_ > 0) std::memcpy(bytes.get(), bytes_.get(), size_);
        bytes_ = std::move(bytes);
        capacity_ = capacity;
    }

private:
    std::unique_ptr<char[]> bytes_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

} // namespace bubblescope
