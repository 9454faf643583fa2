#pragma once

#include "app/gui/models/session.h"
#include "core/aadiff/coverage.h"

#include <cstddef>
#include <vector>

namespace bubblescope::gui {

/// Steps from one item to another. Pure functions; an empty reference means there is no such item.

/// The op after (`direction` +1) or before (−1) the item on its rank, across steps. From a bubble or a
/// transfer it is the nearest op in that direction.
[[nodiscard]] ItemRef neighbourOp(const Session& session, const ItemRef& from, int direction);

/// The op that made the input of `op`: F of the stage before, B or I of the stage after; the last stage's
/// backward comes from its own forward. From a transfer span, the sending op; from a slice, the op that it belongs to.
[[nodiscard]] ItemRef producer(const Session& session, const ItemRef& from);

/// The op that uses the output of `op`. From a transfer span, the receiving op.
[[nodiscard]] ItemRef consumer(const Session& session, const ItemRef& from);

/// The op that runs as a pair with this one; empty for ops that run alone, and for what is no op.
[[nodiscard]] ItemRef otherHalf(const Session& session, const ItemRef& from);

/// The op of a line running at `time`, or the nearest one; empty when it has none.
[[nodiscard]] ItemRef opNear(const Session& session, int line, TimeNs time);

/// What lies in a stretch of time.
struct RangeStats {
    struct RankShare {
        TimeNs busy{0};   ///< of the stretch, with an op running
        TimeNs bubble{0}; ///< counted as bubble
        int ops = 0;      ///< that touch it
    };
    TimeRange range;
    std::vector<RankShare> ranks; ///< by line

    [[nodiscard]] TimeNs busy() const;
    [[nodiscard]] TimeNs bubble() const;
    [[nodiscard]] int ops() const;
    /// Of all ranks' time in the stretch.
    [[nodiscard]] double busyShare() const;
};

/// Logarithmic in all ops, linear in those of the stretch. Both halves of an overlapped pair count as ops, their time
/// once.
[[nodiscard]] RangeStats statsOf(const Session& session, const TimeRange& range);

/// The begin or end of an op, bubble, transfer or check of a line that is nearest to `time` and at most `reach` away;
/// `time` where there is none.
[[nodiscard]] TimeNs snapped(const Session& session, int line, TimeNs time, TimeNs reach);

/// A check as an item; empty for one that ran in none of the run's steps. `check` is its index in CheckLog::checks.
[[nodiscard]] ItemRef checkItem(const Session& session, std::size_t check);

/// The check to show for a cell of the coverage: its first mismatch, else the latest one that was done. Empty where
/// none of them ran in a step of the run.
[[nodiscard]] ItemRef checkOf(const Session& session, const CheckPlace& place, const CoverageMap::Column& column);

} // namespace bubblescope::gui
