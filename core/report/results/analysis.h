#pragma once

#include "core/analysis/model_use.h"
#include "core/analysis/report.h"
#include "core/report/document.h"

#include <cstddef>
#include <optional>
#include <string>

namespace bubblescope::report {

struct AnalysisOptions {
    /// Audience of the document: Text, Page or Programs. Parts for other audiences are omitted.
    Reader reader = Reader::Text;
    std::size_t most_findings = Findings::kScreen; ///< maximum number of findings in text
    std::size_t most_rows = 64;                    ///< maximum number of ranks on a page; a note reports the others
    std::optional<ModelUse> use;                   ///< set if the model is known
    std::string version;                           ///< program version for the footer of a page
};

/// Document with the results of `analyze` and `run`. `report` must belong to `run`. People see one step by rank: the
/// typical step of the report's selection. Text and pages have the same order: the verdict, the findings, how time was
/// used, the steps, and the bubbles compared with the closed form. A document for programs refers to `run` and
/// `report`, which must outlive it, because copies of all steps would use several times as much memory.
[[nodiscard]] Document analysisDocument(const Run& run, const RunReport& report, const AnalysisOptions& options);

/// Document with only the verdict, the step time and the steps that the step time is based on.
[[nodiscard]] Document summaryDocument(const Run& run, const RunReport& report);

/// An entry of the document's "anomalies".
[[nodiscard]] Value::Object anomalyOf(const Anomaly& anomaly);

} // namespace bubblescope::report
