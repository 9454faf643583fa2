#pragma once

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/base/wire.h"
#include "core/net/socket.h"
#include "core/net/tls.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope::net {

/// A message between two processes. The first four kinds admit a process, see Admission; the others are exchanged by
/// the sender of a run's files and the monitor that follows the run.
///
/// On the wire, the text is preceded by a head with its length and the checksums (CRC-32) of head and text, so that a
/// damaged length is detected before waiting for its bytes.
struct Frame {
    enum class Kind : std::uint8_t {
        Challenge, ///< listener: `text` is its nonce
        Hello,     ///< joiner: `text` is its proof, its nonce, and its statement about itself
        Welcome,   ///< listener: `text` is its proof
        Refused,   ///< listener: `text` has the reason; it then closes
        Open,   ///< sender: a stream named `text`; `times[0]` differs from that of an earlier stream of the same name
        Resume, ///< receiver: continue at `offset`
        Data,   ///< sender: `text` belongs at `offset`; whole packets only
        Ack,    ///< receiver: has everything before `offset`
        Gone,   ///< sender: the process that wrote the stream has exited; `text` has the reason
        Finish, ///< sender: the stream ends at `offset`
        Ping,   ///< sender: at `times[0]`
        Pong,   ///< receiver: the time in the ping, when it arrived, and when this was sent
        Unkept, ///< receiver: could not store the data from `offset` on; `text` has the reason
    };
    static constexpr Kind kLast = Kind::Unkept;

    Kind kind = Kind::Data;
    std::uint32_t stream = 0;
    std::uint64_t offset = 0;
    std::array<TimeNs, 3> times{};
    std::string text;
};

/// The bytes of a frame on the wire.
[[nodiscard]] std::string encode(const Frame& frame);

/// Splits the bytes of a connection, which arrive in pieces of any size, into frames. Not thread-safe.
class FrameReader {
public:
    /// The longest text; a connection that announces more is broken.
    static constexpr std::size_t kLongestText = std::size_t{1} << 20;

    void feed(std::string_view bytes) { pending_.append(bytes); }
    /// The next frame; nothing if more bytes are needed. Error: Input for malformed bytes; nothing more can be read
    /// then.
    [[nodiscard]] Result<std::optional<Frame>> next();
    /// Memory used while waiting for the rest of a frame.
    [[nodiscard]] std::size_t held() const { return pending_.capacity(); }
    [[nodiscard]] bool empty() const { return pending_.size() == taken_; }

private:
    std::string pending_;
    std::size_t taken_ = 0; ///< bytes of pending_ that were already returned
};

/// Waits for one frame and reads nothing beyond it. Error: Run when the connection ends or at the deadline; Input as in
/// FrameReader::next().
[[nodiscard]] Result<Frame> readFrame(Socket& socket, Deadline deadline);

/// A connection that carries frames, encrypted or not. Never blocks. Not thread-safe.
class Link {
public:
    explicit Link(Socket socket, std::optional<TlsSession> tls = {})
        : socket_(std::move(socket)), tls_(std::move(tls)) {}

    void send(const Frame& frame);
    /// Sends and reads what is possible at once; calls `take` for each complete frame. Do not call it again once the
    /// link has ended. Stops after `reads` reads of 64 KiB, so that other links get their turn.
    void poll(const std::function<void(const Frame&)>& take, int reads = 16);
    /// Like poll(), but does not read: for an end that sends more than it receives.
    void flush();
    /// Releases the connection, for use without frames. Only while no byte of a frame is queued or has been read, and
    /// without TLS.
    [[nodiscard]] Socket release() { return std::move(socket_); }
    /// Sends what is queued and ignores everything received from now on. The other end then closes the connection;
    /// closing it here first would lose data in transit.
    void endAfterSending() { draining_ = true; }

    [[nodiscard]] bool ended() const { return ended_; }
    [[nodiscard]] const std::string& reason() const { return reason_; }       ///< empty if the other end closed it
    [[nodiscard]] std::size_t waiting() const { return out_.size() - sent_; } ///< bytes queued for sending
    /// Memory of its queues: for sending at most about twice the waiting bytes, for receiving at most about two frames.
    [[nodiscard]] std::size_t held() const { return out_.size() + frames_.held(); }
    [[nodiscard]] std::size_t received() const { return received_; }
    [[nodiscard]] int descriptor() const { return socket_.descriptor(); }
    [[nodiscard]] std::string peer() const { return socket_.peer(); }

private:
    void fail(std::string reason);
    void sendSome();
    void readSome(const std::function<void(const Frame&)>& take, int reads);

    Socket socket_;
    std::optional<TlsSession> tls_; ///< none if the connection is not encrypted
    FrameReader frames_;
    std::string out_;
    std::size_t sent_ = 0;
    std::size_t received_ = 0;
    bool draining_ = false;
    bool shut_down_ = false;
    bool ended_ = false;
    std::string reason_;
};

} // namespace bubblescope::net
