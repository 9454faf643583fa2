#pragma once

#include "core/base/result.h"
#include "core/net/socket.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace bubblescope {

/// A connection between two processes of a job. A message arrives as a whole, or an error names the other end.
class TeamSocket {
public:
    using Clock = net::Clock;
    using Deadline = net::Deadline;

    TeamSocket() = default;
    explicit TeamSocket(net::Socket socket) : socket_(std::move(socket)) {}

    [[nodiscard]] bool isOpen() const { return socket_.isOpen(); }
    void close() { socket_.close(); }

    /// Retries until the deadline, since the other side may not listen yet.
    [[nodiscard]] static Result<TeamSocket> connect(const std::string& host, int port, Clock::time_point deadline);

    /// Sends all bytes. Errors name `who`.
    [[nodiscard]] Status write(const void* data, std::size_t bytes, const std::string& who, Deadline deadline = {});
    [[nodiscard]] Status read(void* data, std::size_t bytes, const std::string& who, Deadline deadline = {});
    /// Sends a text, preceded by its length in 64 bits of native byte order.
    [[nodiscard]] Status writeText(const std::string& text, const std::string& who, Deadline deadline = {});
    [[nodiscard]] Result<std::string> readText(std::size_t most, const std::string& who, Deadline deadline = {});

    /// Without waiting: returns the number of bytes, possibly 0; nothing when the connection is closed.
    [[nodiscard]] std::optional<std::size_t> writeSome(const void* data, std::size_t bytes);
    [[nodiscard]] std::optional<std::size_t> readSome(void* data, std::size_t bytes);

private:
    net::Socket socket_;
};

/// Where the first process of a job waits for the others.
class TeamListener {
public:
    /// On all addresses of the host, or only on the loopback. Error: Run, with the system's message.
    [[nodiscard]] static Result<TeamListener> open(int port, bool loopback);
    /// The next connection; nothing at the deadline.
    [[nodiscard]] Result<std::optional<TeamSocket>> accept(net::Deadline deadline);

private:
    net::Listener listener_;
};

} // namespace bubblescope
