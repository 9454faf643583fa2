#pragma once

#include "core/optimize/overlap/streams.h"

#include <string>

namespace bubblescope::overlap {

/// Draws a run's two streams over time, one row each, `width` columns wide: a piece of compute is its name (B0, F0, B1,
/// …) followed by '-', an all-reduce the name of its piece followed by '='; '.' is idle. An all-reduce that blocks the
/// compute stream is drawn in both rows. Names wider than their piece are truncated.
[[nodiscard]] std::string streamChart(const Plan& plan, const PlanRun& run, int width = 110);

} // namespace bubblescope::overlap
