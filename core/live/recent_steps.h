#pragma once

#include "core/analysis/report.h"
#include "core/live/live_view.h"
#include "core/live/step_window.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace bubblescope::live {

/// The last steps of a window with their report, as `analyze` gives one of a finished run. Steps before a large gap in
/// the numbers are left out, and so are those beyond `max_ops` ops, but for the newest step. `anomalies` are those that
/// hold now; to them come the mismatches of checks in these steps. None where the window has no step. Linear in the ops
/// of the window, which it copies.
[[nodiscard]] std::optional<DiagnosedRun> recentSteps(const StepWindow& window,
                                                      const std::vector<LiveAnomaly>& anomalies, std::size_t max_ops);

} // namespace bubblescope::live
