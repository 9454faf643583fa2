#pragma once

#include "core/base/time.h"
#include "runtime/clock/host_clock.h"

#include <atomic>
#include <optional>

namespace bubblescope::runtime {

/// When one rank's compute device is busy.
///
/// Paced, it is an emulated device: an op begins when its input has arrived and the device is free, both
/// on the emulated clock, and ends a nominal time later. The host does the maths meanwhile and then holds
/// the rank until that end has passed. Hosts are late: threads wake late and share cores. As long as the
/// maths is done no later than the tolerance after the nominal end, the emulated times do not move, so
/// lateness cannot add up from op to op; otherwise the op ends when the host was through. A host that
/// sleeps too long after the maths does not lengthen the op, the result being there, but shows in the next
/// one. An op without a nominal time takes the host's time.
///
/// Not paced, every op takes the host's time.
///
/// All times are those of the host clock's origin. One thread; `aborted` may be set by others.
class DeviceClock {
public:
    struct End {
        TimeNs time{0};
        bool moved = false; ///< the maths was done beyond the tolerance and `time` is the host's
    };

    /// No tolerance = not paced. When `aborted` becomes true, a hold ends early.
    DeviceClock(HostClock& host, std::optional<TimeNs> tolerance, const std::atomic<bool>& aborted)
        : host_(host), tolerance_(tolerance), aborted_(aborted) {}

    [[nodiscard]] bool paced() const { return tolerance_.has_value(); }
    /// True if an op of that nominal time takes it on the emulated clock, not the host's time.
    [[nodiscard]] bool emulates(TimeNs nominal) const { return paced() && nominal > TimeNs{0}; }
    /// End of the last op, or what alignTo() said.
    [[nodiscard]] TimeNs freeAt() const { return free_at_; }

    /// The device is not used before `time`.
    void alignTo(TimeNs time) { free_at_ = time; }

    /// The device is not used for that long from now on, on the clock that ops go by.
    void pause(TimeNs time);

    /// Holds the calling thread until the host's clock shows `time`.
    void sleepUntil(TimeNs time);

    /// When an op whose input arrives at `arrival` begins.
    [[nodiscard]] TimeNs begin(TimeNs arrival, TimeNs nominal) const;

    /// To be called when the op's maths is done: when the op ends, which may be a while ahead. What waits
    /// for the result may have it now, as long as it does not use it before that time on the device clock.
    /// Where ops run together, to be called after each one's maths; the last call says when all of them end.
    End end(TimeNs begin, TimeNs nominal);

    /// Holds the calling thread until the op that `begin` and `nominal` describe should have ended. Returns
    /// by how much the host was later than that; 0 where the host's time counts.
    TimeNs hold(TimeNs begin, TimeNs nominal);

private:
    HostClock& host_;
    std::optional<TimeNs> tolerance_;
    const std::atomic<bool>& aborted_;
    TimeNs free_at_{0};
};

} // namespace bubblescope::runtime
