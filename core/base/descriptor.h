#pragma once

#include <unistd.h>

#include <utility>

namespace bubblescope {

/// Owns a POSIX file descriptor and closes it in the destructor.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }

    [[nodiscard]] int get() const { return number_; }
    /// Releases ownership: the caller must close the descriptor.
    [[nodiscard]] int release() { return std::exchange(number_, -1); }
    [[nodiscard]] bool isOpen() const { return number_ >= 0; }

private:
    int number_ = -1;
};

} // namespace bubblescope
