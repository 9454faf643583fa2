#pragma once

#include "core/base/result.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

/// TCP connections based on Asio, which this header does not expose. No function throws. Only functions that are
/// documented as waiting can block.
///
/// Each object may be used by only one thread at a time. A listener and the sockets that it accepted share an event
/// loop. Therefore, at most one of these may be in a waiting call at a time.

namespace bubblescope::net {

/// An address to listen on or connect to.
struct Address {
    std::string host; ///< "127.0.0.1" by default
    int port = 0;     ///< 0 = any free port, for listening

    [[nodiscard]] std::string text() const; ///< "host:port"
    /// True if the host is a loopback address or "localhost".
    [[nodiscard]] bool isLoopback() const;
};

/// Parses "HOST:PORT", "[IPV6]:PORT", ":PORT" or "PORT". The default host is the loopback address, so that nothing is
/// exposed unless requested. Errors: Usage.
[[nodiscard]] Result<Address> parseAddress(std::string_view text);

/// Checks the address of a stream without TLS, which others could read and modify in transit. Error: Usage unless this
/// is a loopback address; `encrypting` lists the options that enable encryption.
[[nodiscard]] Status mustBeLoopback(const Address& address, std::string_view encrypting);

using Clock = std::chrono::steady_clock;
/// Deadline of a waiting call; if empty, the call waits until the other end closes the connection.
using Deadline = std::optional<Clock::time_point>;

/// A TCP connection, which the destructor closes.
class Socket {
public:
    struct State; ///< Asio's

    Socket();
    explicit Socket(std::unique_ptr<State> state);
    Socket(Socket&& other) noexcept;
    Socket& operator=(Socket&& other) noexcept;
    ~Socket();

    [[nodiscard]] bool isOpen() const { return state_ != nullptr; }
    void close() { *this = Socket(); }
    /// Descriptor for functions such as poll(2); −1 if not open.
    [[nodiscard]] int descriptor() const;
    /// IP address of the other end, without the port; empty if the connection has ended.
    [[nodiscard]] std::string peer() const;

    /// Result of a call that does not wait.
    struct Progress {
        std::size_t bytes = 0;    ///< number of transferred bytes; 0 if none can be transferred now
        bool ended = false;       ///< true if the connection has ended
        std::error_code reason{}; ///< reason for the end; none if the other end closed the connection
    };
    [[nodiscard]] Progress readSome(char* data, std::size_t bytes);
    [[nodiscard]] Progress writeSome(std::string_view data);

    enum class Outcome : std::uint8_t { Done, TimedOut, Closed };
    /// Waits until all bytes are transferred.
    [[nodiscard]] Outcome read(char* data, std::size_t bytes, Deadline deadline);
    [[nodiscard]] Outcome write(std::string_view data, Deadline deadline);

    /// Shuts down the sending direction. Returns false if the connection has ended.
    bool shutdownWrite();
    /// Makes the system detect an unreachable host within a minute.
    void enableKeepAlive();

private:
    std::unique_ptr<State> state_;
};

/// Accepts connections and configures them to send small messages without delay.
class Listener {
public:
    struct State;

    Listener();
    explicit Listener(std::unique_ptr<State> state);
    Listener(Listener&& other) noexcept;
    Listener& operator=(Listener&& other) noexcept;
    ~Listener();

    /// Listens on the first usable address of the host and sets `address.port` to the actual port. Error: Run, with the
    /// address.
    [[nodiscard]] static Result<Listener> open(Address& address);
    /// Listens where other hosts can reach this host by the name that they use for it: on the interface that has the
    /// name's address. If no interface has that address (because the name resolves to loopback, or addresses are
    /// translated), listens on all interfaces. On failure, the result is not open, and `failed` contains the reason.
    [[nodiscard]] static Listener openReachable(const Address& address, std::error_code& failed);

    [[nodiscard]] bool isOpen() const { return state_ != nullptr; }
    [[nodiscard]] int descriptor() const;

    /// Returns the next connection, which is not open if none is pending.
    [[nodiscard]] Socket accept();
    /// Waits for the next connection. The result is not open if the deadline has passed or connections cannot be
    /// accepted; `failed` then contains the reason.
    [[nodiscard]] Socket accept(Deadline deadline, std::error_code& failed);

private:
    std::unique_ptr<State> state_;
};

/// Establishes a connection: resolves the host name and tries each of its addresses for at most `attempt`. The
/// destructor cancels the connection, but waits for a name lookup in progress.
class Connector {
public:
    explicit Connector(const Address& address, Clock::duration attempt = std::chrono::seconds(10));
    Connector(Connector&& other) noexcept;
    Connector& operator=(Connector&& other) noexcept;
    ~Connector();

    enum class Stage : std::uint8_t { UnderWay, Connected, Failed };
    /// Makes progress without waiting.
    [[nodiscard]] Stage poll();
    /// Waits until the connection has been established or has failed, or until the deadline.
    [[nodiscard]] Stage wait(Deadline deadline);

    /// Returns the established connection. May be called only once.
    [[nodiscard]] Socket take();
    /// System message about the failure, or about the last attempt if the connection has not failed.
    [[nodiscard]] const std::string& reason() const;
    /// True if the connection failed because the host name is unknown.
    [[nodiscard]] bool unknownHost() const;
    /// Descriptor of the current attempt, which becomes writable when the attempt succeeds or fails; −1 during a name
    /// lookup.
    [[nodiscard]] int descriptor() const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

} // namespace bubblescope::net
