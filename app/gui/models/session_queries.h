#pragma once

#include "app/gui/models/session.h"
#include "core/aadiff/coverage.h"

#include <cstddef>
#include <vector>

namespace bubblescope::gui {

/// Functions that navigate between items. Their result is empty if there is no item to navigate to.

/// Op after (`direction` +1) or before (−1) the item on the same rank, across steps. For bubbles and transfers, the
/// nearest op in that direction. For slices on lines without ops, the next slice in the same row.
[[nodiscard]] ItemRef neighbourOp(const Session& session, const ItemRef& from, int direction);

/// Op that produced the input of an op or sent a transfer; see producerOf(). For a slice, the enclosing op, or the
/// start of a flow arrow that ends at the slice.
[[nodiscard]] ItemRef producer(const Session& session, const ItemRef& from);

/// Op that uses the output of an op or receives a transfer; see consumerOf(). For a slice, the end of a flow arrow that
/// starts at the slice.
[[nodiscard]] ItemRef consumer(const Session& session, const ItemRef& from);

/// The other op of an overlapped pair; empty for ops that run alone and for other items.
[[nodiscard]] ItemRef otherHalf(const Session& session, const ItemRef& from);

/// Op that runs on a line at `time`, or the nearest op; empty if the line has no ops.
[[nodiscard]] ItemRef opNear(const Session& session, int line, TimeNs time);

/// Statistics for a time range.
struct RangeStats {
    struct RankStats {
        TimeNs busy{0};   ///< time covered by ops
        TimeNs bubble{0}; ///< time in bubbles
        int ops = 0;      ///< number of ops that overlap the range
    };
    TimeRange range;
    std::vector<RankStats> ranks; ///< one per line

    [[nodiscard]] TimeNs busy() const;
    [[nodiscard]] TimeNs bubble() const;
    [[nodiscard]] int ops() const;
    /// Fraction of the ranks' total time that is busy.
    [[nodiscard]] double busyFraction() const;
};

/// Logarithmic in the total number of ops, linear in the number of ops in the range. An overlapped pair counts as two
/// ops, but its time counts only once.
[[nodiscard]] RangeStats statsOf(const Session& session, const TimeRange& range);

/// Nearest start or end of an op, bubble, transfer or check on a line, at most `reach` from `time`. Returns `time` if
/// there is none.
[[nodiscard]] TimeNs snapped(const Session& session, int line, TimeNs time, TimeNs reach);

/// Line that shows a counter: the first line with tracks of the counter's process. `clock` is the line's clock.
struct CounterLine {
    int line = -1; ///< −1 for counters without values and for processes without a line
    ClockFit clock;
};
/// One entry per counter in Trace::counters().
[[nodiscard]] std::vector<CounterLine> counterLines(const Session& session);

/// Item for a check, given by its index in CheckLog::checks. Empty if the check did not run in a step of the run.
[[nodiscard]] ItemRef checkItem(const Session& session, std::size_t check);

/// Check that represents a cell of the coverage table: the first mismatch or, if there is none, the latest completed
/// check. Empty if no check ran in a step of the run.
[[nodiscard]] ItemRef checkOf(const Session& session, const CheckPlace& place, const CoverageMap::Column& column);

} // namespace bubblescope::gui
