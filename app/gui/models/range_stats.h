#pragma once

#include "app/gui/models/session.h"

#include <vector>

namespace bubblescope::gui {

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

} // namespace bubblescope::gui
