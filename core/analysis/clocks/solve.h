#pragma once

#include "core/base/time.h"

#include <span>
#include <vector>

namespace bubblescope {

/// Two events, the first of which cannot have happened after the second: a send's start and its receive's end. Times
/// are as shown by their clocks.
struct Precedence {
    int before_clock = 0;
    int after_clock = 0;
    TimeNs before{0};
    TimeNs after{0};
};

/// Two events that happened at nearly the same time: the ends of one collective.
struct Coincidence {
    int first_clock = 0;
    int second_clock = 0;
    TimeNs first{0};
    TimeNs second{0};
};

/// The two directions of a ping.
void addPing(const Ping& ping, std::vector<Precedence>& into);

struct ClockLimits {
    double most_drift_ppm = 1000; ///< between two clocks: quartz clocks stay within 100 each, but some virtual machines
                                  ///< do not
};

/// The offset of a clock after it was set, see solveSteppedClocks().
struct ClockSpan {
    TimeNs from{0};   ///< on the clock itself; times that it showed before and shows again count as earlier ones
    TimeNs within{0}; ///< it was set between this much before `from` and this much after
    TimeNs offset{0}; ///< as in ClockFit
    double drift = 0;
};

/// The offset and drift of one clock, relative to its group's first clock.
struct ClockFit {
    int group = 0;                  ///< clocks of different groups cannot be compared
    TimeNs origin{0};               ///< on the reference's clock; where `offset` applies
    TimeNs offset{0};               ///< the clock shows this much more than the reference
    double drift = 0;               ///< nanoseconds gained per nanosecond; 0 if the events need none
    TimeNs bound{0};                ///< maximum error of the difference to the reference, at any time during the events
    TimeNs residual{0};             ///< amount by which the group's events contradict each other regardless of the
                                    ///< offsets
    std::vector<ClockSpan> later{}; ///< after the clock was set, by `from`

    /// Converts a time of this clock to the reference clock.
    [[nodiscard]] TimeNs toReference(TimeNs shown) const;
    /// The inverse, exact to a nanosecond if there is drift.
    [[nodiscard]] TimeNs fromReference(TimeNs time) const;
};

/// Relates clocks by events on them.
///
/// Clock i shows T + o_i(T) at time T, where o_i is a straight line. A precedence bounds the difference o_j - o_i from
/// above at one time, and a precedence in the other direction bounds it from below. The lines between the bounds form a
/// polygon per pair of clocks (their bounds' convex hulls suffice). Its extent at the first and at the last event gives
/// difference constraints; the shortest paths over those from and to the reference give each clock's range at both
/// ends: the joint feasible set. The estimate is the median of the coincidences with the reference if they lie in that
/// range, otherwise its middle, which assumes symmetric delays. A drift is given only if no constant offset is
/// feasible. `bound` is the largest distance from the estimate within the range, so it holds whenever the precedences
/// do.
///
/// If no lines satisfy all precedences, they are relaxed by the least amount that allows some, the residual, and by
/// twice that for the bound.
///
/// Clocks are in one group if bounds lead from each to the other and back. One entry per clock. Takes time to sort the
/// events, plus time proportional to clocks x pairs.
[[nodiscard]] std::vector<ClockFit> solveClocks(int clocks, std::span<const Precedence> precedences,
                                                std::span<const Coincidence> coincidences,
                                                const ClockLimits& limits = {});

/// Like solveClocks(), for clocks that may have been set during the run. If the events contradict each other by more
/// than `tolerance`, searches for the clock and the time at which one step, or a few, explain that; each begins a
/// ClockSpan. If none do, the result is that of solveClocks(). With only two clocks, it is unknown which one was set,
/// so the second one is assumed to be.
[[nodiscard]] std::vector<ClockFit> solveSteppedClocks(int clocks, std::span<const Precedence> precedences,
                                                       std::span<const Coincidence> coincidences,
                                                       const ClockLimits& limits, TimeNs tolerance);

} // namespace bubblescope
