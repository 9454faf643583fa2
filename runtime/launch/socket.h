#pragma once

#include "core/base/result.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace bubblescope {

/// A TCP connection or listener, closed at the end of its life.
class Socket {
public:
    using Clock = std::chrono::steady_clock;
    /// None = for ever, which ends when the other side is gone.
    using Deadline = std::optional<Clock::time_point>;

    Socket() = default;
    explicit Socket(int descriptor) : descriptor_(descriptor) {}
    Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Socket& operator=(Socket&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~Socket();

    [[nodiscard]] bool isOpen() const { return descriptor_ >= 0; }
    void close() { *this = Socket(); }

    /// On all of the host's addresses, or on the loopback alone. Error: Run, in the system's words.
    [[nodiscard]] static Result<Socket> listen(int port, bool loopback, int waiting);
    /// The next one that connects; nothing at the deadline.
    [[nodiscard]] Result<std::optional<Socket>> accept(Deadline deadline);
    /// Tries again and again until the deadline, since the other side may not listen yet.
    [[nodiscard]] static Result<Socket> connect(const std::string& host, int port, Clock::time_point deadline);

    /// All of it, or an error that says `who` is at the other end.
    [[nodiscard]] Status write(const void* data, std::size_t bytes, const std::string& who, Deadline deadline = {});
    [[nodiscard]] Status read(void* data, std::size_t bytes, const std::string& who, Deadline deadline = {});
    /// A text with its length in front.
    [[nodiscard]] Status writeText(const std::string& text, const std::string& who, Deadline deadline = {});
    [[nodiscard]] Result<std::string> readText(std::size_t most, const std::string& who, Deadline deadline = {});

    /// What goes at once: how many bytes, 0 for none; nothing when the connection is gone.
    [[nodiscard]] std::optional<std::size_t> writeSome(const void* data, std::size_t bytes);
    [[nodiscard]] std::optional<std::size_t> readSome(void* data, std::size_t bytes);

private:
    int descriptor_ = -1;
};

} // namespace bubblescope
