#pragma once

#include "app/gui/models/session.h"
#include "core/aadiff/coverage.h"

#include <cstddef>
#include <vector>

namespace bubblescope::gui {

/// Navigation between items. Pure functions; an empty item means that there is none.

/// The op after (`direction` +1) or before (−1) the item on its rank, across steps. For bubbles and transfers, the
/// nearest op in that direction; for slices of lines without ops, the next slice in their row.
[[nodiscard]] ItemRef neighbourOp(const Session& session, const ItemRef& from, int direction);

/// The op that produced the input of an op, or that sent a transfer, see producerOf(); for a slice, the op around it,
/// or the slice from which an arrow to it starts.
[[nodiscard]] ItemRef producer(const Session& session, const ItemRef& from);

/// The op that uses the output of an op, or that receives a transfer, see consumerOf(); for a slice, the slice to which
/// an arrow from it leads.
[[nodiscard]] ItemRef consumer(const Session& session, const ItemRef& from);

/// The other half of an overlapped pair; empty for ops that run alone and for other items.
[[nodiscard]] ItemRef otherHalf(const Session& session, const ItemRef& from);

/// The op of a line that runs at `time`, or the nearest one; empty if the line has none.
[[nodiscard]] ItemRef opNear(const Session& session, int line, TimeNs time);

/// Totals of an interval.
struct RangeStats {
    struct RankStats {
        TimeNs busy{0};   ///< time covered by ops
        TimeNs bubble{0}; ///< in bubbles
        int ops = 0;      ///< ops that overlap the interval
    };
    TimeRange range;
    std::vector<RankStats> ranks; ///< one per line

    [[nodiscard]] TimeNs busy() const;
    [[nodiscard]] TimeNs bubble() const;
    [[nodiscard]] int ops() const;
    /// Fraction of all ranks' time.
    [[nodiscard]] double busyFraction() const;
};

/// Logarithmic in the number of all ops, linear in those within the interval. Both halves of an overlapped pair count
/// as ops, but their time counts once.
[[nodiscard]] RangeStats statsOf(const Session& session, const TimeRange& range);

/// The nearest start or end of an op, bubble, transfer or check on a line, at most `reach` from `time`; `time` itself
/// if there is none.
[[nodiscard]] TimeNs snapped(const Session& session, int line, TimeNs time, TimeNs reach);

/// The line that shows a counter of the trace: the first with tracks of its process. `clock` is that of the line.
struct CounterLine {
    int line = -1; ///< −1 for a counter without values, or of a process that has no line
    ClockFit clock;
};
/// One for each of Trace::counters().
[[nodiscard]] std::vector<CounterLine> counterLines(const Session& session);

/// A check as an item; empty if it ran in none of the run's steps. `check` is its index in CheckLog::checks.
[[nodiscard]] ItemRef checkItem(const Session& session, std::size_t check);

/// The check to show for a cell of the coverage: its first mismatch, or its latest completed check. Empty if none of
/// them ran in a step of the run.
[[nodiscard]] ItemRef checkOf(const Session& session, const CheckPlace& place, const CoverageMap::Column& column);

} // namespace bubblescope::gui
