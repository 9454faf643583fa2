#pragma once

#include "core/base/result.h"
#include "runtime/comm/activity.h"
#include "runtime/comm/message.h"

#include <atomic>
#include <functional>
#include <optional>
#include <span>

namespace bubblescope::runtime {

/// One rank's end of the transport that joins the ranks of a run, which are threads of one process or processes of many
/// hosts. The rank's thread alone uses it; fail() and ended() are for any thread.
///
/// A run ends early for all ranks together: by fail() anywhere, or because a rank has died or hangs. Then nothing waits
/// any more, receive() and barrier() return nothing, and error() holds the reason, naming the rank.
///
/// Times are those of the rank's own clock; a transport between clocks translates.
class Transport {
public:
    virtual ~Transport() = default;

    /// The end's own rank.
    [[nodiscard]] virtual Rank rank() const = 0;

    /// Which messages the rank will take in the next step, in the order in which it will; to be called before the
    /// meeting that begins the step, when all earlier messages have been taken. Receives can then be posted before the
    /// data comes. Others may be taken as well.
    virtual void expect(std::span<const Expected> messages) = 0;

    /// Takes the message over and never waits for the receiver. `to` must be another rank or the own one.
    virtual void send(Rank to, const MessageKey& key, Message message) = 0;

    /// Waits for the message; nothing when the run has ended.
    [[nodiscard]] virtual std::optional<Taken> receive(Rank from, const MessageKey& key) = 0;

    /// When a message was sent that receive() would return at once; nothing where it would wait, or the time is
    /// unknown. Never waits.
    [[nodiscard]] virtual std::optional<TimeNs> peek(Rank /*from*/, const MessageKey& /*key*/) { return {}; }
    /// Whether it is there and satisfies `is`; false where that is unknown. Never waits.
    [[nodiscard]] virtual bool arrived(Rank /*from*/, const MessageKey& /*key*/,
                                       const std::function<bool(const Message&)>& /*is*/) {
        return false;
    }

    /// Whether ranks can send each other mail.
    [[nodiscard]] virtual bool carriesMail() const { return false; }
    /// To another rank, at most kLargestMail. Never waits.
    virtual void post(Mail /*mail*/) {}
    /// What has come; nothing if nothing has. Never waits.
    [[nodiscard]] virtual std::optional<Mail> takeMail() { return {}; }
    /// Waits for some; nothing when the run has ended.
    [[nodiscard]] virtual std::optional<Mail> awaitMail() { return {}; }

    /// Waits for all ranks, each of which brings a time and leaves with the latest of all; nothing when the run has
    /// ended.
    [[nodiscard]] virtual std::optional<TimeNs> barrier(TimeNs time) = 0;

    /// Publishes what the rank is doing, for the watchdog. Cheap: once per op.
    virtual void report(const Activity& activity) = 0;

    /// Ends the run for all ranks with this error, unless it has ended already.
    virtual void fail(Error error) = 0;

    /// True once the run has ended early; every wait polls it.
    [[nodiscard]] virtual const std::atomic<bool>& ended() const = 0;

    /// Why it ended; nothing if it did not.
    [[nodiscard]] virtual std::optional<Error> error() const = 0;
};

} // namespace bubblescope::runtime
