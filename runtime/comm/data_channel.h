#pragma once

#include "runtime/comm/message.h"

#include <optional>
#include <span>

namespace bubblescope::runtime {

/// Sends tensors between processes. No call waits: each starts what can be started and advances pending transfers. One
/// thread at a time. Failures are exceptions.
class DataChannel {
public:
    struct Arrived {
        Tensor tensor;
        std::optional<TimeNs> sent; ///< on the sender's clock; nothing if only a device knows
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
    /// A message that has arrived; on a device, one whose transfer is queued.
    [[nodiscard]] virtual std::optional<Arrived> take(Rank from, const MessageKey& key) = 0;
    /// The time at which a message was sent that has arrived and was not taken yet; nothing if it has not arrived, or
    /// the time is unknown.
    [[nodiscard]] virtual std::optional<TimeNs> peek(Rank /*from*/, const MessageKey& /*key*/) const { return {}; }
    /// See Transport. Times are not translated.
    [[nodiscard]] virtual bool carriesMail() const { return false; }
    virtual void post(Mail /*mail*/) {}
    [[nodiscard]] virtual std::optional<Mail> takeMail() { return {}; }
    /// Whether anything is pending that needs progress().
    [[nodiscard]] virtual bool busy() const = 0;
    /// The run has ended early: releases everything that waits, on the host or on a device. May be called again.
    virtual void abort() {}
    /// Called when all processes are about to close the channel: frees resources whose release takes all of them.
    virtual void closeTogether() {}
};

} // namespace bubblescope::runtime
