#pragma once

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/schedule/op.h"
#include "runtime/comm/message.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

namespace bubblescope::runtime {

/// The activity of a rank. Times are on the clock of the rank's host.
struct Activity {
    enum class Kind : std::uint8_t {
        Starting,  ///< creating its stages
        Computing, ///< executing `op`
        Checking,  ///< running a check in a bubble; `op` is the last op that the rank ran
        Receiving, ///< waiting for the input of `op` from `peer`
        Summing,   ///< waiting inside `op` for `peer`'s part of a sum
        Draining,  ///< waiting for the rank's device to finish queued work, which may wait for peers
        AtBarrier, ///< waiting for all ranks, between ops
        Done,      ///< all steps are finished
    };

    Kind kind = Kind::Starting;
    std::int32_t step = 0;
    Op op;
    Rank peer;
    TimeNs since{0};
    TimeNs due{0}; ///< for Computing: the expected end of the op; not earlier than `since`

    /// True if the rank keeps a core busy.
    [[nodiscard]] bool busy() const { return kind == Kind::Computing || kind == Kind::Checking; }
};

/// The load that the ranks of the run put on this rank's machine.
struct HostLoad {
    int ranks = 1; ///< number of ranks on the machine, including this one
    int busy = 0;  ///< number of other ranks that are in an op or a check
    int cores = 1; ///< number of cores that the ranks may use

    /// True if there are more ranks than cores.
    [[nodiscard]] bool coresAreShort() const { return ranks > cores; }
    /// True if there are more ranks than cores, and the other ranks keep all cores busy.
    [[nodiscard]] bool crowded() const { return coresAreShort() && busy >= cores; }
};

/// One rank's end of the transport between the ranks of a run, which are threads of one process or processes on several
/// hosts. Only the rank's thread may call the functions, except for fail() and ended(), which any thread may call.
///
/// If fail() is called anywhere, or if a rank dies or hangs, the run ends early for all ranks. From then on no call
/// waits, receive() and barrier() return nothing, and error() returns the reason, which names the rank.
///
/// Times are on the rank's clock; a transport between different clocks translates them.
class Transport {
public:
    virtual ~Transport() = default;

    /// The rank at this end.
    [[nodiscard]] virtual Rank rank() const = 0;

    /// Announces the messages that the rank will receive in the next step, in this order. Call this before the barrier
    /// that begins the step, when all earlier messages have been taken. Receives can then be posted in advance.
    /// Unannounced messages may be received as well.
    virtual void expect(std::span<const Expected> messages) = 0;

    /// Takes ownership of the message and never waits for the receiver. `to` may be this rank.
    virtual void send(Rank to, const MessageKey& key, Message message) = 0;

    /// Waits for the message; returns nothing if the run has ended.
    [[nodiscard]] virtual std::optional<Taken> receive(Rank from, const MessageKey& key) = 0;

    /// The send time of a message that receive() would return without waiting; nothing if receive() would wait or the
    /// time is unknown. Never waits.
    [[nodiscard]] virtual std::optional<TimeNs> peek(Rank /*from*/, const MessageKey& /*key*/) { return {}; }
    /// True if the message has arrived and satisfies `is`; false if that is unknown. Never waits.
    [[nodiscard]] virtual bool arrived(Rank /*from*/, const MessageKey& /*key*/,
                                       const std::function<bool(const Message&)>& /*is*/) {
        return false;
    }

    /// True if ranks can send each other mail.
    [[nodiscard]] virtual bool carriesMail() const { return false; }
    /// Sends mail to another rank, at most kLargestMail bytes. Never waits.
    virtual void post(Mail /*mail*/) {}
    /// The next mail; nothing if none has arrived. Never waits.
    [[nodiscard]] virtual std::optional<Mail> takeMail() { return {}; }
    /// Waits for mail; returns nothing if the run has ended.
    [[nodiscard]] virtual std::optional<Mail> awaitMail() { return {}; }

    /// Waits for all ranks, each of which passes a time. Returns the latest time, or nothing if the run has ended.
    [[nodiscard]] virtual std::optional<TimeNs> barrier(TimeNs time) = 0;

    /// Publishes the rank's activity, for the watchdog. The call is cheap enough to be made once per op.
    virtual void report(const Activity& activity) = 0;
    /// The load of this machine, according to the last reports of its ranks. The call is cheap. Returns nothing if the
    /// load is unknown.
    [[nodiscard]] virtual std::optional<HostLoad> hostLoad() const { return {}; }

    /// Ends the run for all ranks with this error, unless it has ended already.
    virtual void fail(Error error) = 0;

    /// True once the run has ended early; every waiting call polls this.
    [[nodiscard]] virtual const std::atomic<bool>& ended() const = 0;

    /// Why the run ended early; nothing if it did not.
    [[nodiscard]] virtual std::optional<Error> error() const = 0;
};

/// Records whether and why a run has ended early. Thread-safe.
class RunEnd {
public:
    /// Keeps the first error. Returns false if an error was already set.
    bool set(Error error) {
        const std::lock_guard lock(mutex_);
        if (error_) return false;
        error_ = std::move(error);
        ended_ = true;
        return true;
    }

    [[nodiscard]] const std::atomic<bool>& ended() const { return ended_; }

    [[nodiscard]] std::optional<Error> error() const {
        const std::lock_guard lock(mutex_);
        return error_;
    }

private:
    mutable std::mutex mutex_;
    std::optional<Error> error_;
    std::atomic<bool> ended_{false};
};

} // namespace bubblescope::runtime
