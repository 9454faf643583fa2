#pragma once

#include "core/analysis/model_use.h"
#include "core/analysis/report.h"
#include "core/report/document.h"

#include <cstddef>
#include <optional>
#include <string>

namespace bubblescope::report {

struct AnalysisOptions {
    /// Whom the document is made for: Text, Page or Programs. What is not for them is not made.
    Reader reader = Reader::Text;
    std::size_t most_findings = Findings::kScreen; ///< that text shows
    std::size_t most_rows = 64;                    ///< ranks that a page draws; it reports when there are more
    std::optional<ModelUse> use;                   ///< where the model is known
    std::string version;                           ///< of the program, for the foot of a page
};

/// What `analyze` and `run` found. `report` belongs to `run`. People see one step rank by rank: the typical one of the
/// steps that the report's selection takes. Text and pages have one order: the verdict, the findings, where the time
/// went, the steps, and the bubbles compared with the closed form. For programs the document refers to both, which must
/// outlive it: all steps at once would take several times their memory.
[[nodiscard]] Document analysisDocument(const Run& run, const RunReport& report, const AnalysisOptions& options);

/// The verdict alone, with the time of a step and the steps that it is based on.
[[nodiscard]] Document summaryDocument(const Run& run, const RunReport& report);

/// One of the document's "anomalies".
[[nodiscard]] Value::Object anomalyOf(const Anomaly& anomaly);

} // namespace bubblescope::report
