#pragma once

#include "core/analysis/model_use.h"
#include "core/analysis/report.h"
#include "core/report/document.h"

#include <cstddef>
#include <optional>
#include <string>

namespace bubblescope::report {

struct AnalysisOptions {
    /// The reader of the document: Text, Page or Programs. Parts for other readers are not made.
    Reader reader = Reader::Text;
    std::size_t most_findings = Findings::kScreen; ///< that text shows
    std::size_t most_rows = 64;                    ///< ranks that a page draws; it reports when there are more
    std::optional<ModelUse> use;                   ///< where the model is known
    std::string version;                           ///< of the program, for the foot of a page
};

/// The results of `analyze` and `run`. `report` must belong to `run`. People see one step rank by rank: the typical one
/// of the report's selection. Text and pages have one order: the verdict, the findings, where the time went, the steps,
/// and the bubbles compared with the closed form. For programs the document refers to both, which must outlive it,
/// because all steps at once would take several times their memory.
[[nodiscard]] Document analysisDocument(const Run& run, const RunReport& report, const AnalysisOptions& options);

/// Only the verdict, with the time of a step and the steps that it is based on.
[[nodiscard]] Document summaryDocument(const Run& run, const RunReport& report);

/// An entry of the document's "anomalies".
[[nodiscard]] Value::Object anomalyOf(const Anomaly& anomaly);

} // namespace bubblescope::report
