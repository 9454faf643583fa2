#pragma once

#include "core/base/time.h"

#include <span>
#include <vector>

namespace bubblescope {

/// Two events; the first cannot have happened after the second, as with the start of a send and the end of its receive.
/// Times are those shown by the clocks.
struct Precedence {
    int before_clock = 0;
    int after_clock = 0;
    TimeNs before{0};
    TimeNs after{0};
};

/// Two events that happened at nearly the same time, such as the ends of one collective on two ranks.
struct Coincidence {
    int first_clock = 0;
    int second_clock = 0;
    TimeNs first{0};
    TimeNs second{0};
};

/// The two directions of a ping.
void addPing(const Ping& ping, std::vector<Precedence>& into);

struct ClockLimits {
    double most_drift_ppm = 1000; ///< maximum drift between two clocks; quartz clocks stay within 100, but some virtual
                                  ///< machines do not
};

/// The offset of a clock after the clock was set; see solveSteppedClocks().
struct ClockSpan {
    TimeNs from{0};   ///< start on the clock itself; if the clock showed a time twice, its first occurrence counts
    TimeNs within{0}; ///< uncertainty: the clock was set at `from` plus or minus this time
    TimeNs offset{0}; ///< as in ClockFit
    double drift = 0;
};

/// The offset and drift of one clock, relative to the first clock of its group.
struct ClockFit {
    int group = 0;                  ///< clocks of different groups cannot be compared
    TimeNs origin{0};               ///< time on the reference clock for which `offset` is valid
    TimeNs offset{0};               ///< time shown by the clock minus time shown by the reference
    double drift = 0;               ///< nanoseconds gained per nanosecond; 0 if a constant offset explains the events
    TimeNs bound{0};                ///< maximum error of the difference from the reference, at the time of any event
    TimeNs residual{0};             ///< amount by which the group's events contradict each other, whatever the
                                    ///< offsets
    std::vector<ClockSpan> later{}; ///< spans after the clock was set, sorted by `from`

    /// Converts a time of this clock to the reference clock.
    [[nodiscard]] TimeNs toReference(TimeNs shown) const;
    /// The inverse of toReference(): exact without drift, otherwise accurate to a nanosecond.
    [[nodiscard]] TimeNs fromReference(TimeNs time) const;
};

/// Relates clocks by events that were recorded on them.
///
/// Clock i shows T + o_i(T) at time T, where o_i is a straight line. A precedence bounds the difference o_j - o_i from
/// above at one time, and a precedence in the other direction bounds it from below. For each pair of clocks, the lines
/// between these bounds form a polygon; only the convex hulls of the bounds matter. The polygon's extent at the first
/// and at the last event gives difference constraints. The shortest paths over these constraints from and to the
/// reference give each clock's range at both ends: the joint feasible set. The estimate is the median of the
/// coincidences with the reference if they lie in that range, otherwise the middle of the range, which assumes
/// symmetric delays. Drift is nonzero only if no constant offset is feasible. `bound` is the largest distance from the
/// estimate within the range, and is valid if all precedences are valid.
///
/// If no lines satisfy all precedences, the precedences are relaxed by the smallest amount that permits a solution (the
/// residual), and by twice that for the bound.
///
/// Two clocks are in one group if bounds lead from each clock to the other. Returns one entry per clock. Takes the time
/// to sort the events, plus time proportional to clocks × pairs.
[[nodiscard]] std::vector<ClockFit> solveClocks(int clocks, std::span<const Precedence> precedences,
                                                std::span<const Coincidence> coincidences,
                                                const ClockLimits& limits = {});

/// Like solveClocks(), but for clocks that may have been set during the run. If the events contradict each other by
/// more than `tolerance`, searches for a clock that was set once or a few times, which would explain the contradiction.
/// Each time that the clock was set starts a ClockSpan. If there is no such clock, the result is that of solveClocks().
/// With only two clocks, the second one is assumed to have been set, because the events cannot distinguish them.
[[nodiscard]] std::vector<ClockFit> solveSteppedClocks(int clocks, std::span<const Precedence> precedences,
                                                       std::span<const Coincidence> coincidences,
                                                       const ClockLimits& limits, TimeNs tolerance);

} // namespace bubblescope
