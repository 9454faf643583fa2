#pragma once

#include "core/timeline/step_timeline.h"

#include <span>
#include <utility>
#include <vector>

namespace bubblescope {

/// By how much checks made a step longer: its wall time, less that of the same step replayed without them.
///
/// In the replay every op takes as long as it did and begins when its rank is free, its input has arrived (as long
/// behind its producer's end as it did) and what else kept it has passed: the time by which it really began behind
/// these three and the end of the rank's last check. So the only thing that changes is that no check is in the way.
///
/// `checks`: per rank by start, when it ran checks, on the step's clock; may be empty.
[[nodiscard]] TimeNs delayByChecks(const StepTimeline& step,
                                   std::span<const std::vector<std::pair<TimeNs, TimeNs>>> checks);

} // namespace bubblescope
