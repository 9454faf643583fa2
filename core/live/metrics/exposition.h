#pragma once

#include "core/live/live_analyzer.h"

#include <string>

namespace bubblescope::live {

/// The state of a live view as Prometheus reads it (text format 0.0.4): base units, counters named _total, and labels
/// of which a run has few values.
[[nodiscard]] std::string exposition(const LiveAnalyzer& analyzer);

} // namespace bubblescope::live
