#pragma once

#include "core/analysis/model_use.h"
#include "core/analysis/report.h"
#include "core/report/document.h"

#include <cstddef>
#include <optional>
#include <string>

namespace bubblescope::report {

struct AnalysisOptions {
    /// The reader of the document: Text, Page or Programs. Parts for other readers are omitted.
    Reader reader = Reader::Text;
    std::size_t most_findings = Findings::kScreen; ///< shown in text
    std::size_t most_rows = 64;                    ///< number of ranks that a page draws; it reports if there are more
    std::optional<ModelUse> use;                   ///< set if the model is known
    std::string version;                           ///< version of the program, for the foot of a page
};

/// The results of `analyze` and `run`. `report` must belong to `run`. People see one step rank by rank: the typical one
/// of the report's selection. Text and pages use the same order: the verdict, the findings, where the time went, the
/// steps, and the bubbles compared with the closed form. A document for programs refers to `run` and `report`, which
/// must outlive it; all steps at once would take several times their memory.
[[nodiscard]] Document analysisDocument(const Run& run, const RunReport& report, const AnalysisOptions& options);

/// Only the verdict, with the time of a step and the steps that it is based on.
[[nodiscard]] Document summaryDocument(const Run& run, const RunReport& report);

/// An entry of the document's "anomalies".
[[nodiscard]] Value::Object anomalyOf(const Anomaly& anomaly);

} // namespace bubblescope::report
