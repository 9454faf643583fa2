#pragma once

#include "app/cli/output.h"
#include "core/analysis/report.h"

#include <string>

namespace bubblescope::cli {

/// `aadiff` of `analyze --json`: what was checked, what was not, what differed. `report` has a coverage.
[[nodiscard]] Json checksJson(const Run& run, const RunReport& report);

/// The same for people; empty where the trace holds no checks.
[[nodiscard]] std::string checksText(const Run& run, const RunReport& report);

} // namespace bubblescope::cli
