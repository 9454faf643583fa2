#pragma once

#include "core/base/time.h"
#include "runtime/clock/host_clock.h"

#include <atomic>
#include <optional>

namespace bubblescope::runtime {

/// The times at which one rank's compute device is busy.
///
/// If paced, the device is emulated: an op begins when its input has arrived and the device is free, both on the
/// emulated clock, and ends a nominal time later. Meanwhile the host does the maths, and then holds the rank until that
/// end has passed. Hosts are late: threads wake late and share cores. As long as the maths is done no later than the
/// tolerance after the nominal end, the emulated times do not move, so lateness does not accumulate from op to op;
/// otherwise the op ends when the host was done. A host that sleeps too long after the maths does not lengthen the op,
/// whose result exists, but delays the next one. An op without a nominal time takes the host's time.
///
/// If not paced, every op takes the host's time.
///
/// All times have the origin of the host clock. Used by one thread; `aborted` may be set by others.
class DeviceClock {
public:
    struct End {
        TimeNs time{0};
        bool moved = false; ///< whether the maths exceeded the tolerance, so that `time` is the host's
    };

    /// No tolerance = not paced. When `aborted` becomes true, a hold ends early.
    DeviceClock(HostClock& host, std::optional<TimeNs> tolerance, const std::atomic<bool>& aborted)
        : host_(host), tolerance_(tolerance), aborted_(aborted) {}

    [[nodiscard]] bool paced() const { return tolerance_.has_value(); }
    /// Whether an op with that nominal time takes it on the emulated clock, not the host's time.
    [[nodiscard]] bool emulates(TimeNs nominal) const { return paced() && nominal > TimeNs{0}; }
    /// End of the last op, or the time set by alignTo().
    [[nodiscard]] TimeNs freeAt() const { return free_at_; }

    /// The device is not used before `time`.
    void alignTo(TimeNs time) { free_at_ = time; }

    /// The device is not used for this long from now on, on the clock of the ops.
    void pause(TimeNs time);

    /// Holds the calling thread until the host's clock shows `time`.
    void sleepUntil(TimeNs time);

    /// The begin of an op whose input arrives at `arrival`.
    [[nodiscard]] TimeNs begin(TimeNs arrival, TimeNs nominal) const;

    /// The end of the op, which may lie in the future. To be called when the op's maths is done. The result may be
    /// handed on at once, as long as it is not used before that time on the device clock. For ops that run together, to
    /// be called after each one's maths; the last call returns the end of all of them.
    End end(TimeNs begin, TimeNs nominal);

    /// Holds the calling thread until the end of the op that `begin` and `nominal` describe. Returns how much later the
    /// host was; 0 if the host's time counts.
    TimeNs hold(TimeNs begin, TimeNs nominal);

private:
    HostClock& host_;
    std::optional<TimeNs> tolerance_;
    const std::atomic<bool>& aborted_;
    TimeNs free_at_{0};
};

} // namespace bubblescope::runtime
