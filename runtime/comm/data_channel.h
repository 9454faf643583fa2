#pragma once

#include "runtime/comm/message.h"

#include <optional>
#include <span>

namespace bubblescope::runtime {

/// Tensors between processes. Nothing here waits: every call starts what can be started and advances what was. One
/// thread at a time. Failures are exceptions.
class DataChannel {
public:
    struct Arrived {
        Tensor tensor;
        std::optional<TimeNs> sent; ///< on the sender's clock; nothing where only a device knows
        std::optional<MessageDigests> digests{};
    };

    DataChannel() = default;
    DataChannel(const DataChannel&) = delete;
    DataChannel& operator=(const DataChannel&) = delete;
    /// Gives up what is under way.
    virtual ~DataChannel() = default;

    /// See Transport::expect().
    virtual void expect(std::span<const Expected> messages) = 0;
    virtual void send(Rank to, const MessageKey& key, Message message) = 0;
    /// Advances everything under way.
    virtual void progress() = 0;
    /// A message that has come; of a device's, one whose transfer is queued.
    [[nodiscard]] virtual std::optional<Arrived> take(Rank from, const MessageKey& key) = 0;
    /// When a message was sent that has arrived and was not taken yet; nothing where it has not, or the time is
    /// unknown.
    [[nodiscard]] virtual std::optional<TimeNs> peek(Rank /*from*/, const MessageKey& /*key*/) const { return {}; }
    /// See Transport. Times are not translated.
    [[nodiscard]] virtual bool carriesMail() const { return false; }
    virtual void post(Mail /*mail*/) {}
    [[nodiscard]] virtual std::optional<Mail> takeMail() { return {}; }
    /// True while something is under way that needs progress().
    [[nodiscard]] virtual bool busy() const = 0;
    /// The run has ended early: releases everything that waits, for a device or on it. May be called again.
    virtual void abort() {}
    /// All processes are about to close it: what takes all of them to free may be freed.
    virtual void closeTogether() {}
};

} // namespace bubblescope::runtime
