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

/// TCP over Asio, which this header does not expose. Nothing here throws. Only calls that are documented as waiting can
/// block.
///
/// Use each object from one thread at a time. A listener and the sockets that it accepted share an event loop, so only
/// one of their waiting calls may be active at a time.

namespace bubblescope::net {

/// An address to listen on or to connect to.
struct Address {
    std::string host; ///< "127.0.0.1" by default
    int port = 0;     ///< 0 = any free port, for listening

    [[nodiscard]] std::string text() const; ///< "host:port"
    /// True if the host is written as a loopback address or "localhost".
    [[nodiscard]] bool isLoopback() const;
};

/// Parses "HOST:PORT", "[IPV6]:PORT", ":PORT" or "PORT". The default host is the loopback, so that nothing is exposed
/// unless requested. Errors: Usage.
[[nodiscard]] Result<Address> parseAddress(std::string_view text);

/// For a stream without TLS, which others could read and change in transit. Error: Usage unless the address is the
/// loopback; `encrypting` names the options that encrypt.
[[nodiscard]] Status mustBeLoopback(const Address& address, std::string_view encrypting);

using Clock = std::chrono::steady_clock;
/// If empty, calls wait until the other end closes the connection.
using Deadline = std::optional<Clock::time_point>;

/// A TCP connection; closed by the destructor.
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
    /// For poll(2) and the like; −1 if not open.
    [[nodiscard]] int descriptor() const;
    /// The other end's IP address, without its port; empty if the connection has ended.
    [[nodiscard]] std::string peer() const;

    /// The progress of a call that does not wait.
    struct Progress {
        std::size_t bytes = 0;    ///< 0: nothing can be transferred now
        bool ended = false;       ///< the connection has ended
        std::error_code reason{}; ///< reason for the end; none if the other end closed the connection
    };
    [[nodiscard]] Progress readSome(char* data, std::size_t bytes);
    [[nodiscard]] Progress writeSome(std::string_view data);

    enum class Outcome : std::uint8_t { Done, TimedOut, Closed };
    /// Waits until all bytes are transferred.
    [[nodiscard]] Outcome read(char* data, std::size_t bytes, Deadline deadline);
    [[nodiscard]] Outcome write(std::string_view data, Deadline deadline);

    /// Shuts down writing. False if the connection has ended.
    bool shutdownWrite();
    /// Makes the system detect within a minute that the other host has become unreachable.
    void enableKeepAlive();

private:
    std::unique_ptr<State> state_;
};

/// Accepts connections, which are configured to send small messages without delay.
class Listener {
public:
    struct State;

    Listener();
    explicit Listener(std::unique_ptr<State> state);
    Listener(Listener&& other) noexcept;
    Listener& operator=(Listener&& other) noexcept;
    ~Listener();

    /// Listens on the first usable address of the host; sets `address.port` to the actual port. Error: Run, naming the
    /// address.
    [[nodiscard]] static Result<Listener> open(Address& address);
    /// Listens where others can reach this host under the name that they use for it: on the interface with that address
    /// or, if there is none (a name that this host resolves to its loopback, a translated address), on all interfaces.
    /// Not open on failure; `failed` has the reason.
    [[nodiscard]] static Listener openReachable(const Address& address, std::error_code& failed);

    [[nodiscard]] bool isOpen() const { return state_ != nullptr; }
    [[nodiscard]] int descriptor() const;

    /// The next connection; not open if none is pending.
    [[nodiscard]] Socket accept();
    /// Waits for the next connection. Not open at the deadline, or when none can be accepted; `failed` then has the
    /// reason.
    [[nodiscard]] Socket accept(Deadline deadline, std::error_code& failed);

private:
    std::unique_ptr<State> state_;
};

/// A connection being established: resolves the host's name and tries its addresses one after another, each for at most
/// `attempt`. Destroying it cancels the connection, but waits for a name lookup in progress.
class Connector {
public:
    explicit Connector(const Address& address, Clock::duration attempt = std::chrono::seconds(10));
    Connector(Connector&& other) noexcept;
    Connector& operator=(Connector&& other) noexcept;
    ~Connector();

    enum class Stage : std::uint8_t { UnderWay, Connected, Failed };
    /// Makes progress without waiting.
    [[nodiscard]] Stage poll();
    /// Waits until it is settled or the deadline passes.
    [[nodiscard]] Stage wait(Deadline deadline);

    /// The socket. Call once, when connected.
    [[nodiscard]] Socket take();
    /// The reason for the failure, or for the last failed attempt so far, in the system's words.
    [[nodiscard]] const std::string& reason() const;
    /// True if it failed because the host name is unknown.
    [[nodiscard]] bool unknownHost() const;
    /// The descriptor of the current attempt, which becomes writable when the attempt is settled; −1 during a name
    /// lookup.
    [[nodiscard]] int descriptor() const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

} // namespace bubblescope::net
