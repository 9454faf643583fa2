#pragma once

#include "core/base/result.h"
#include "core/net/address.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

/// TCP, over Asio, which stays out of this header. Nothing here throws, and only calls that are said to wait do so.
///
/// Each object is used by one thread at a time. A listener and the sockets that it accepted share an event loop: of
/// their calls that wait, there may be one at a time.
namespace bubblescope::net {

using Clock = std::chrono::steady_clock;
/// Nothing: waits for ever, which ends when the other end is gone.
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
    /// For poll(2) and its like; −1 where it is not open.
    [[nodiscard]] int descriptor() const;

    /// How far a call that does not wait came.
    struct Progress {
        std::size_t bytes = 0; ///< 0: nothing can be transferred at present
        bool over = false;     ///< the connection has ended
        std::error_code why{}; ///< of the end; none where the other end closed it
    };
    [[nodiscard]] Progress readSome(char* data, std::size_t bytes);
    [[nodiscard]] Progress writeSome(std::string_view data);

    enum class Outcome : std::uint8_t { Done, TimedOut, Closed };
    /// Waits until all bytes are transferred.
    [[nodiscard]] Outcome read(char* data, std::size_t bytes, Deadline deadline);
    [[nodiscard]] Outcome write(std::string_view data, Deadline deadline);

    /// Nothing more is written. False where the connection has ended.
    bool endWriting();
    /// Has the system notice within a minute that the other host is gone.
    void watchPeer();

private:
    std::unique_ptr<State> state_;
};

/// Accepts connections, which carry small messages without delay.
class Listener {
public:
    struct State;

    Listener();
    explicit Listener(std::unique_ptr<State> state);
    Listener(Listener&& other) noexcept;
    Listener& operator=(Listener&& other) noexcept;
    ~Listener();

    /// At the first of the host's addresses that can be had; `address.port` becomes the real one. Error: Run, naming
    /// the address.
    [[nodiscard]] static Result<Listener> open(Address& address);
    /// On the loopback, or on all of the host's addresses, of IPv6 and IPv4 where there are both. Not open, with the
    /// reason in `failed`, where that cannot be.
    [[nodiscard]] static Listener open(int port, bool loopback, std::error_code& failed);

    [[nodiscard]] bool isOpen() const { return state_ != nullptr; }
    [[nodiscard]] int descriptor() const;

    /// The next connection; not open where there is none at present.
    [[nodiscard]] Socket accept();
    /// Waits for the next one; not open at the deadline, and where none can be accepted, for which `failed` has the
    /// reason.
    [[nodiscard]] Socket accept(Deadline deadline, std::error_code& failed);

private:
    std::unique_ptr<State> state_;
};

/// A connection under way: resolves the host's name and tries its addresses one after the other, each for as long as
/// `attempt` at most. Destroying it gives up; a look-up of a name that is under way is waited for then.
class Connector {
public:
    explicit Connector(const Address& address, Clock::duration attempt = std::chrono::seconds(10));
    Connector(Connector&& other) noexcept;
    Connector& operator=(Connector&& other) noexcept;
    ~Connector();

    enum class Stage : std::uint8_t { UnderWay, Connected, Failed };
    /// Goes on without waiting.
    [[nodiscard]] Stage turn();
    /// Waits until it is settled, or the deadline.
    [[nodiscard]] Stage wait(Deadline deadline);

    /// Once, when it is connected.
    [[nodiscard]] Socket take();
    /// Of a failure, or of the last attempt so far: in the system's words.
    [[nodiscard]] const std::string& why() const;
    /// Whether the failure is that the name of the host is not known.
    [[nodiscard]] bool unknownHost() const;
    /// Of the attempt under way, writable when that is settled; −1 while a name is looked up.
    [[nodiscard]] int descriptor() const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

} // namespace bubblescope::net
