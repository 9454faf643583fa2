#pragma once

#include "core/base/time.h"
#include "runtime/clock/host_clock.h"

#include <atomic>
#include <optional>

namespace bubblescope::runtime {

/// The times during which one rank's compute device is busy.
///
/// If the clock is paced, the device is emulated. An op begins when its input has arrived and the
/// device is free, both on the emulated clock, and ends after its nominal time. The host computes
/// during that time, then blocks the rank until the op's end. Hosts are not punctual, because threads wake late
/// and share cores. As long as the computation ends within the tolerance after the nominal end, the emulated times
/// do not change, so lateness does not accumulate from op to op. If the computation takes longer, the op ends when
/// the host has finished. If the host sleeps too long after the computation, the op does not become longer,
/// because its result already exists; only the next op is delayed. An op without a nominal time takes the time measured
/// on the host.
///
/// If the clock is not paced, every op takes the time measured on the host.
///
/// All times are relative to the origin of the host clock. Used by one thread; other threads may set `aborted`.
class DeviceClock {
public:
    struct End {
        TimeNs time{0};
        bool moved = false; ///< true if the computation exceeded the tolerance, so that `time` was measured on the host
    };

    /// If no tolerance is given, the clock is not paced. If `aborted` becomes true, blocked calls return early.
    DeviceClock(HostClock& host, std::optional<TimeNs> tolerance, const std::atomic<bool>& aborted)
        : host_(host), tolerance_(tolerance), aborted_(aborted) {}

    [[nodiscard]] bool paced() const { return tolerance_.has_value(); }
    /// True if an op with this nominal time takes that time, instead of the time measured on the host.
    [[nodiscard]] bool emulates(TimeNs nominal) const { return paced() && nominal > TimeNs{0}; }
    /// End of the last op, or the time set by alignTo().
    [[nodiscard]] TimeNs freeAt() const { return free_at_; }

    /// Marks the device as idle until `time`.
    void alignTo(TimeNs time) { free_at_ = time; }

    /// Marks the device as idle for the next `time`, measured on the ops' clock.
    void pause(TimeNs time);

    /// Blocks the calling thread until the host's clock shows `time`.
    void sleepUntil(TimeNs time);

    /// The start of an op whose input arrives at `arrival`.
    [[nodiscard]] TimeNs begin(TimeNs arrival, TimeNs nominal) const;

    /// The end of the op, which may be in the future. Call this when the op's computation is done. The result may be
    /// passed on immediately, as long as it is not used before that time on the device clock. For ops that run
    /// together, call this after the computation of each op; the last call returns the end of all these ops.
    End end(TimeNs begin, TimeNs nominal);

    /// Blocks the calling thread until the end of the op described by `begin` and `nominal`. Returns the lateness of
    /// the host; 0 if the op's time was measured on the host.
    TimeNs hold(TimeNs begin, TimeNs nominal);

private:
    HostClock& host_;
    std::optional<TimeNs> tolerance_;
    const std::atomic<bool>& aborted_;
    TimeNs free_at_{0};
};

} // namespace bubblescope::runtime
