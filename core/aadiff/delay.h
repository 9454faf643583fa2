#pragma once

#include "core/timeline/step_timeline.h"

#include <span>
#include <utility>
#include <vector>

namespace bubblescope {

/// The time by which checks made a step longer: its wall time less that of the same step replayed without them.
///
/// In the replay every op keeps its duration. It begins when its rank is free, its input has arrived (with the same lag
/// after its producer's end) and any other observed delay has passed: the time by which it began after these and after
/// the end of the rank's last check. So the replay differs only by the absence of checks.
///
/// `checks`: intervals of checks per rank by start, on the step's clock; may be empty.
[[nodiscard]] TimeNs delayByChecks(const StepTimeline& step,
                                   std::span<const std::vector<std::pair<TimeNs, TimeNs>>> checks);

} // namespace bubblescope
