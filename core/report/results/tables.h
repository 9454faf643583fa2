#pragma once

#include "core/analysis/report.h"
#include "core/report/csv.h"

#include <functional>
#include <string_view>
#include <vector>

namespace bubblescope::report {

/// A table of the results of `analyze`, for spreadsheets and scripts.
struct AnalysisTable {
    std::string_view name; ///< "ops"
    std::function<void(CsvRows&)> write;
};

/// "steps", "accounting", "findings", "ops", "bubbles" and "transfers", each with a row of column names first. They
/// contain all steps, including those set aside (the table of steps marks them), or only the requested steps, and the
/// requested ranks. The arguments must outlive the result.
[[nodiscard]] std::vector<AnalysisTable> analysisTables(const Run& run, const RunReport& report);

} // namespace bubblescope::report
