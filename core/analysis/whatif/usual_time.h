#pragma once

#include "core/analysis/whatif/replay_ops.h"
#include "core/base/time.h"

#include <vector>

namespace bubblescope {

/// What an op usually takes, of several measurements: the mean, of communication the median (the mean of the middle two
/// where there are two), since a transfer that met a hiccup takes many times as long. Of late starts it is none.
/// Rounded to nanoseconds; 0 of none.
[[nodiscard]] TimeNs usualTime(ReplayOp op, std::vector<TimeNs> measured);

} // namespace bubblescope
