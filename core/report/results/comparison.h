#pragma once

#include "core/analysis/comparison/compare_runs.h"
#include "core/report/document.h"

namespace bubblescope::report {

/// Document that compares two runs op by op. `comparison` compares `a`, the earlier run, with `b`. `reader` is the
/// audience of the document: Text, Page or Programs.
[[nodiscard]] Document comparisonDocument(const Run& a, const Run& b, const RunComparison& comparison, Reader reader);

} // namespace bubblescope::report
