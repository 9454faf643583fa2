#pragma once

#include "core/base/time.h"

#include <span>
#include <vector>

namespace bubblescope {

/// Two things of which the first cannot have happened after the second: a send's start and its receive's end. Times
/// are as their clocks showed them.
struct Precedence {
    int before_clock = 0;
    int after_clock = 0;
    TimeNs before{0};
    TimeNs after{0};
};

/// Two things that happened at nearly the same time: the ends of one collective.
struct Coincidence {
    int first_clock = 0;
    int second_clock = 0;
    TimeNs first{0};
    TimeNs second{0};
};

/// A ping's two ways.
void addPing(const Ping& ping, std::vector<Precedence>& into);

struct ClockLimits {
    double most_drift_ppm = 1000; ///< between two clocks: quartz stays within 100 each, some virtual machines do not
};

/// From when on a clock that was set goes otherwise, see solveSteppedClocks().
struct ClockSpan {
    TimeNs from{0};   ///< on the clock itself; what it showed before and shows again counts as before
    TimeNs within{0}; ///< it was set at some time between this much before `from` and this much after it
    TimeNs offset{0}; ///< as in ClockFit
    double drift = 0;
};

/// How one clock goes, measured by its group's first clock.
struct ClockFit {
    int group = 0;      ///< clocks of different groups cannot be compared
    TimeNs origin{0};   ///< on the reference's clock; where `offset` holds
    TimeNs offset{0};   ///< the clock shows this much more than the reference
    double drift = 0;   ///< nanoseconds that it gains in a nanosecond; 0 where the events need none
    TimeNs bound{0};    ///< the true difference to the reference is no further off, anywhere in the events' time
    TimeNs residual{0}; ///< by how much the group's events contradict each other for any offsets
    std::vector<ClockSpan> later{}; ///< where the clock was set: what holds from then on; by `from`

    /// A time of this clock as the reference would show it.
    [[nodiscard]] TimeNs toReference(TimeNs shown) const;
    /// The way back, to a nanosecond where there is drift.
    [[nodiscard]] TimeNs fromReference(TimeNs time) const;
};

/// Relates clocks by what happened on them.
///
/// Clock i shows T + o_i(T) at time T, where o_i is a straight line. A precedence bounds the difference o_j - o_i from
/// above at one time, and one in the other direction from below. The lines between the bounds make up a polygon per
/// pair of clocks (their bounds' convex hulls suffice). Its extent at the first and at the last event gives difference
/// constraints, and the shortest paths over those from and to the reference give each clock's range at both ends: the
/// joint feasible set. The estimate is the median of the coincidences with the reference as far as they lie in that
/// range, else its middle, which takes delays as symmetric. A drift is given only where no constant offset is
/// feasible. `bound` is the farthest the range goes from the estimate, so that it holds whenever the precedences do.
///
/// Where no lines obey all precedences, they are relaxed by the least amount that lets some, the residual, and
/// by twice that for the bound.
///
/// Clocks are in one group if bounds lead from each to the other and back. One entry per clock. Time: sorting the
/// events, and clocks x pairs.
[[nodiscard]] std::vector<ClockFit> solveClocks(int clocks, std::span<const Precedence> precedences,
                                                std::span<const Coincidence> coincidences,
                                                const ClockLimits& limits = {});

/// As solveClocks(), where clocks may have been set while the run went on. Where the events contradict each other by
/// more than `tolerance`, the clock and the time are looked for at which one step, or a few, explain that; each begins
/// a ClockSpan. Where none do, the result is that of solveClocks(). With only two clocks it is unknown which was
/// set: the second counts.
[[nodiscard]] std::vector<ClockFit> solveSteppedClocks(int clocks, std::span<const Precedence> precedences,
                                                       std::span<const Coincidence> coincidences,
                                                       const ClockLimits& limits, TimeNs tolerance);

} // namespace bubblescope
