#pragma once

#include "core/timeline/step_timeline.h"

namespace bubblescope {

/// A step between two timelines of it: each op that both have begins and ends at `share` of its way from where it is in
/// `from` to where it is in `to`. 0 is `from` itself and 1 is `to`; in between, ops that only one of them has are left
/// out, and so are transfers. Both must count time from the same origin. A rank's ops stay sorted by start, also where
/// the two order them differently; they may overlap then. O(n log n) in the ops.
[[nodiscard]] StepTimeline blend(const StepTimeline& from, const StepTimeline& to, double share);

} // namespace bubblescope
