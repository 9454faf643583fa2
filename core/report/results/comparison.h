#pragma once

#include "core/analysis/comparison/compare_runs.h"
#include "core/report/document.h"

namespace bubblescope::report {

/// Two runs, op by op. `comparison` is of `a`, the run before, and `b`. `reader` is whom the document is made for:
/// Text, Page or Programs.
[[nodiscard]] Document comparisonDocument(const Run& a, const Run& b, const RunComparison& comparison, Reader reader);

} // namespace bubblescope::report
