#pragma once

#include "core/base/result.h"
#include "runtime/comm/message.h"
#include "runtime/comm/transport.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace bubblescope::runtime {

/// Sends tensors between processes. No call blocks: each call starts all transfers that can be started, and advances
/// pending transfers. Only one thread at a time may use a channel. Failures are reported as exceptions.
class DataChannel {
public:
    struct Arrived {
        Tensor tensor;
        std::optional<TimeNs> sent; ///< sending time on the sender's clock; nothing if the time exists only on a device
        std::optional<MessageDigests> digests{};
    };

    DataChannel() = default;
    DataChannel(const DataChannel&) = delete;
    DataChannel& operator=(const DataChannel&) = delete;
    /// Abandons pending transfers.
    virtual ~DataChannel() = default;

    /// See Transport::expect().
    virtual void expect(std::span<const Expected> messages) = 0;
    virtual void send(Rank to, const MessageKey& key, Message message) = 0;
    /// Advances all pending transfers.
    virtual void progress() = 0;
    /// A message that has arrived or, on a device, whose transfer is queued.
    [[nodiscard]] virtual std::optional<Arrived> take(Rank from, const MessageKey& key) = 0;
    /// Sending time of a message that has not been taken yet; nothing if the message has not arrived or the time is
    /// unknown.
    [[nodiscard]] virtual std::optional<TimeNs> peek(Rank /*from*/, const MessageKey& /*key*/) const { return {}; }
    /// See Transport. Times are not translated.
    [[nodiscard]] virtual bool carriesMail() const { return false; }
    virtual void post(Mail /*mail*/) {}
    [[nodiscard]] virtual std::optional<Mail> takeMail() { return {}; }
    /// True if a pending transfer needs progress().
    [[nodiscard]] virtual bool busy() const = 0;
    /// Call this when the run has ended early. Releases all waiting work on the host and on devices. May be called
    /// again.
    virtual void abort() {}
};

/// A message between processes that is not a tensor. The message is small and of fixed size. All processes of a job run
/// the same program on machines of the same kind.
struct ControlMessage {
    enum class Kind : std::uint8_t {
        Alive,   ///< the sender's activity; times are relative to the time of sending
        Arrive,  ///< to the root: the sender's time
        Release, ///< from the root: the latest time of all ranks
        Ping,    ///< requests the receiver's clock
        Pong,    ///< the answer to a Ping
        Ended,   ///< the run ends early; carries the reason
        Bye,     ///< the sender has detected the end of the run and no longer needs the other processes
    };

    Kind kind = Kind::Alive;
    ErrorKind error_kind = ErrorKind::Run;
    Activity activity;
    std::int64_t round = 0;
    std::array<std::int64_t, 3> times{};
    std::array<char, 640> message{}; ///< error text; both strings are null-terminated
    std::array<char, 256> hint{};
};

/// Sends control messages between processes. No call blocks. Failures appear as missing messages, which the watchdog
/// reports. Only one thread at a time may use a channel.
class ControlChannel {
public:
    struct Received {
        Rank from;
        ControlMessage message;
    };

    ControlChannel() = default;
    ControlChannel(const ControlChannel&) = delete;
    ControlChannel& operator=(const ControlChannel&) = delete;
    virtual ~ControlChannel() = default;

    virtual void send(Rank to, const ControlMessage& message) = 0;
    /// The next received message; nothing if none has arrived.
    [[nodiscard]] virtual std::optional<Received> receive() = 0;
};

/// A team of processes that provides a channel for control messages.
class ControlSource {
public:
    virtual ~ControlSource() = default;
    /// Opens a channel between the team's processes, which must all call this function. The team must outlive the
    /// channel.
    [[nodiscard]] virtual Result<std::unique_ptr<ControlChannel>> openControl() = 0;
};

} // namespace bubblescope::runtime
