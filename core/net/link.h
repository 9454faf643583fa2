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

/// A message between two processes. The first four kinds are used to admit a process, see Admission; the others are
/// exchanged by the sender of a run's files and the monitor that follows the run.
///
/// On the wire, the text is preceded by a header with its length and the checksums (CRC-32) of header and text. A
/// corrupt length is therefore detected before waiting for the text.
struct Frame {
    enum class Kind : std::uint8_t {
        Challenge, ///< from the listener; `text` is its nonce
        Hello,     ///< from the joiner; `text` contains its proof, its nonce, and its description of itself
        Welcome,   ///< from the listener; `text` is its proof
        Refused,   ///< from the listener before it closes the connection; `text` contains the reason
        Open,      ///< from the sender: a stream named `text`; `times[0]` is unique among streams of that name
        Resume,    ///< from the receiver: continue at `offset`
        Data,      ///< from the sender; `text` is the data at `offset` and contains only complete packets
        Ack,       ///< from the receiver, which has all data before `offset`
        Gone,      ///< from the sender: the process that wrote the stream has exited; `text` contains the reason
        Finish,    ///< from the sender: the stream ends at `offset`
        Ping,      ///< from the sender; sent at `times[0]`
        Pong,      ///< from the receiver; contains when the ping was sent and arrived, and when the pong was sent
        Unkept,    ///< from the receiver, which could not store the data from `offset` on; `text` contains the reason
    };
    static constexpr Kind kLast = Kind::Unkept;

    Kind kind = Kind::Data;
    std::uint32_t stream = 0;
    std::uint64_t offset = 0;
    std::array<TimeNs, 3> times{};
    std::string text;
};

/// Encodes a frame for the wire.
[[nodiscard]] std::string encode(const Frame& frame);

/// Splits the data of a connection, which arrives in pieces of any size, into frames. Not thread-safe.
class FrameReader {
public:
    /// Maximum length of a frame's text; a connection that announces more is treated as broken.
    static constexpr std::size_t kLongestText = std::size_t{1} << 20;

    void feed(std::string_view bytes) { pending_.append(bytes); }
    /// Returns the next frame; empty if more data is needed. Error: Input if the data is malformed; after that, no
    /// frames can be read.
    [[nodiscard]] Result<std::optional<Frame>> next();
    /// Memory used while waiting for the remainder of a frame.
    [[nodiscard]] std::size_t held() const { return pending_.capacity(); }
    [[nodiscard]] bool empty() const { return pending_.size() == taken_; }

private:
    std::string pending_;
    std::size_t taken_ = 0; ///< number of bytes of pending_ that were already returned
};

/// Waits for a single frame and reads no data beyond it. Errors: Run if the connection ends or the deadline passes;
/// Input as in FrameReader::next().
[[nodiscard]] Result<Frame> readFrame(Socket& socket, Deadline deadline);

/// A connection that transmits frames, optionally encrypted. Never blocks. Not thread-safe.
class Link {
public:
    explicit Link(Socket socket, std::optional<TlsSession> tls = {})
        : socket_(std::move(socket)), tls_(std::move(tls)) {}

    void send(const Frame& frame);
    /// Sends and reads as much as possible without waiting; calls `take` for each complete frame. Must not be called
    /// after the link has ended. Returns after `reads` reads of 64 KiB, so that other links are not delayed.
    void poll(const std::function<void(const Frame&)>& take, int reads = 16);
    /// Like poll(), but without reading, for an end that sends more than it receives.
    void flush();
    /// Releases the connection for use without frames. Allowed only if no byte of a frame is queued or has been read,
    /// and only without TLS.
    [[nodiscard]] Socket release() { return std::move(socket_); }
    /// Sends queued data and ignores data received from now on. The connection ends when the other end closes it;
    /// closing it on this end first would lose data in transit.
    void endAfterSending() { draining_ = true; }

    [[nodiscard]] bool ended() const { return ended_; }
    [[nodiscard]] const std::string& reason() const { return reason_; }       ///< empty if the peer closed the link
    [[nodiscard]] std::size_t waiting() const { return out_.size() - sent_; } ///< number of bytes queued for sending
    /// Queue memory: for sending, at most about twice the bytes waiting to be sent; for receiving, about two frames.
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
