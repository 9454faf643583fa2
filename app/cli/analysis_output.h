#pragma once

#include "app/cli/output.h"
#include "core/analysis/report.h"

#include <optional>
#include <string>

namespace bubblescope::cli {

/// The document of `analyze --json` and `run --json`.
[[nodiscard]] Json analysisJson(const Run& run, const RunReport& report);

/// One of its "anomalies".
[[nodiscard]] Json anomalyJson(const Anomaly& anomaly);

/// The analysis for people; `step` is the number of the step whose ranks and positions are shown, the typical
/// one if none is given. It must exist.
[[nodiscard]] std::string analysisText(const Run& run, const RunReport& report, std::optional<int> step);

} // namespace bubblescope::cli
