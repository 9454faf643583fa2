#pragma once

#include "core/base/result.h"
#include "runtime/comm/transport.h"

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace bubblescope::runtime {

/// Finds the rank that keeps the others waiting, based on the latest reports from all ranks. The watchdog has neither a
/// thread nor a clock: the transport calls it periodically. Thread-safe.
///
/// A rank is at fault if it
/// - has sent no heartbeat for longer than the timeout (only if heardFrom() reports heartbeats),
/// - has been in an op, according to its last heartbeat, for longer than the expected time plus the timeout,
/// - has waited for a message, or for its device, for longer than the timeout while no rank computes: the message is
///   lost or the device hangs.
/// Ranks that wait for such a rank are not at fault.
class Watchdog {
public:
    Watchdog(int ranks, TimeNs timeout);

    /// The time to which a reported activity applies: that of the rank's last heartbeat, or now.
    enum class Known : std::uint8_t { WhenHeard, Now };
    void report(Rank rank, const Activity& activity, Known known = Known::WhenHeard);

    /// Records a heartbeat. A rank that has never sent a heartbeat is not considered silent, because threads of one
    /// process send none.
    void heardFrom(Rank rank, TimeNs now);

    /// The error that ends the run; nothing if no rank is at fault.
    [[nodiscard]] std::optional<Error> verdict(TimeNs now) const;

    [[nodiscard]] TimeNs timeout() const { return timeout_; }

private:
    struct Seen {
        Activity activity;
        std::optional<TimeNs> heard;
        Known known = Known::WhenHeard;
    };

    [[nodiscard]] std::optional<Error> silent(Rank rank, TimeNs now) const;
    [[nodiscard]] std::optional<Error> stuck(Rank rank, TimeNs now) const;
    [[nodiscard]] std::optional<Error> lostMessage(TimeNs now) const;

    TimeNs timeout_;
    mutable std::mutex mutex_;
    std::vector<Seen> ranks_;
};

} // namespace bubblescope::runtime
