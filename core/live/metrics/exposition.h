#pragma once

#include "core/live/live_analyzer.h"

#include <string>

namespace bubblescope::live {

/// The state of a live view in Prometheus's text format 0.0.4: base units, counters named _total, and labels with few
/// values per run.
[[nodiscard]] std::string exposition(const LiveAnalyzer& analyzer);

} // namespace bubblescope::live
