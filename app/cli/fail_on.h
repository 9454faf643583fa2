#pragma once

#include "core/analysis/anomalies/anomaly.h"

#include <string>
#include <vector>

namespace bubblescope::cli {

/// What --fail-on takes where findings are made: "any" and the names of their kinds.
[[nodiscard]] std::vector<std::string> failKinds();

/// Whether a finding is one that `kinds`, a value of --fail-on, names. "slow-stage" names a slow last stage too.
[[nodiscard]] bool failsOnFinding(const std::vector<std::string>& kinds, AnomalyKind found);

} // namespace bubblescope::cli
