#pragma once

#include "core/analysis/report.h"
#include "core/report/data_table.h"

#include <functional>
#include <string_view>
#include <vector>

namespace bubblescope::report {

/// A table of results from `analyze`, for spreadsheets and scripts.
struct AnalysisTable {
    std::string_view name; ///< "ops"
    std::function<DataTable()> make;
};

/// Tables "steps", "accounting", "findings", "ops", "bubbles" and "transfers". They contain the requested ranks, and
/// either all steps or the requested ones; steps that were set aside are marked in "steps". The arguments must outlive
/// the result.
[[nodiscard]] std::vector<AnalysisTable> analysisTables(const Run& run, const RunReport& report);

/// The ops and bubbles of a single step, with the same columns.
[[nodiscard]] DataTable stepOps(const StepTimeline& step);
[[nodiscard]] DataTable stepBubbles(const StepTimeline& step, const StepAnalysis& analysis);

} // namespace bubblescope::report
