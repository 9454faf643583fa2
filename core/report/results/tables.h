#pragma once

#include "core/analysis/report.h"
#include "core/report/data_table.h"

#include <functional>
#include <string_view>
#include <vector>

namespace bubblescope::report {

/// A table of the results of `analyze`, for spreadsheets and scripts.
struct AnalysisTable {
    std::string_view name; ///< "ops"
    std::function<DataTable()> make;
};

/// "steps", "accounting", "findings", "ops", "bubbles" and "transfers". They contain all steps, including those set
/// aside (which the table of steps marks), or only the requested steps, and the requested ranks. The arguments must
/// outlive the result.
[[nodiscard]] std::vector<AnalysisTable> analysisTables(const Run& run, const RunReport& report);

/// The ops and bubbles of one step, with the same columns.
[[nodiscard]] DataTable stepOps(const StepTimeline& step);
[[nodiscard]] DataTable stepBubbles(const StepTimeline& step, const StepAnalysis& analysis);

} // namespace bubblescope::report
