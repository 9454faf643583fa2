#pragma once

#include "app/cli/output.h"
#include "core/analysis/comparison/compare_runs.h"

#include <string>

namespace bubblescope::cli {

[[nodiscard]] std::string diffText(const Run& a, const Run& b, const RunComparison& comparison);
[[nodiscard]] Json diffJson(const Run& a, const Run& b, const RunComparison& comparison);

} // namespace bubblescope::cli
