#pragma once

#include "core/analysis/report.h"
#include "core/report/document.h"

#include <cstddef>
#include <optional>
#include <string>

namespace bubblescope::report {

struct AnalysisOptions {
    /// Whom the document is made for: Text, Page or Programs. What is not for them is not made.
    Reader reader = Reader::Text;
    /// Index into RunReport::steps of the step that people see rank by rank; the typical one if not given.
    std::optional<std::size_t> step;
    std::size_t most_rows = 64; ///< ranks that a page draws; it says so when there are more
    std::string version;        ///< of the program, for the foot of a page
};

/// What `analyze` and `run` found. `report` is of `run`.
[[nodiscard]] Document analysisDocument(const Run& run, const RunReport& report, const AnalysisOptions& options);

/// One of the document's "anomalies".
[[nodiscard]] Value::Object anomalyOf(const Anomaly& anomaly);

} // namespace bubblescope::report
