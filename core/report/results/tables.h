#pragma once

#include "core/analysis/report.h"
#include "core/report/csv.h"

#include <functional>
#include <string_view>
#include <vector>

namespace bubblescope::report {

/// A table of what `analyze` knows, for spreadsheets and scripts.
struct AnalysisTable {
    std::string_view name; ///< "ops"
    std::function<void(CsvRows&)> write;
};

/// "steps", "accounting", "findings", "ops", "bubbles" and "transfers", each with a row of column names first: of all
/// steps, those set aside as well (the steps' table says which), or of those alone that were asked for, and of the
/// ranks that were. The arguments must outlive what is returned.
[[nodiscard]] std::vector<AnalysisTable> analysisTables(const Run& run, const RunReport& report);

} // namespace bubblescope::report
