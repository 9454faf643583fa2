#pragma once

#include "core/analysis/anomalies/part_findings.h"
#include "core/analysis/report.h"
#include "core/base/diagnostic.h"
#include "core/base/job.h"
#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace bubblescope {

/// How a run's pipeline was found, and what its files state, for a part of it: without steps, checks and slices.
[[nodiscard]] Run withoutSteps(const Run& run);

/// Diagnoses a run of which only a part is in memory at a time. Neighbouring steps are judged together, as a run of
/// their own: by what is usual in them. Then they lose their ops, and what remains of a step is of a fixed size for
/// each rank. Some of the first steps stay and are compared with every part, so that what began in an earlier part
/// still shows. Findings of several parts at one place become one (PartFindings); what concerns the whole run, such as
/// a change of the step time, is derived from all steps at the end.
///
/// The typical step of a run is looked for among those of its parts: the one that is nearest to the median has its ops
/// and its diagnosis. Medians of stages are those of the parts' medians. A run of one part has the report that
/// analyzeRun() makes. One thread at a time; add() works on all cores.
class PartwiseDiagnosis {
public:
    /// `about` states what is known of the run before its steps: RunInfo, files, format.
    PartwiseDiagnosis(Run about, const DiagnosisOptions& options);

    /// Takes the next steps: complete ones on one clock, by number, all replicas of a number together. At least one;
    /// the first call names the run's schedule. `problems` are those of reading up to there. Error: Cancelled.
    [[nodiscard]] Status add(std::vector<StepTimeline> steps, const RunClocks& clocks, std::vector<Diagnostic> problems,
                             const JobControl& control);

    /// The run with the steps of all calls, of which only the typical one has its ops, and its report. Its problems are
    /// those of the last call. Errors: those of selectSteps(). Call it once, after at least one add().
    [[nodiscard]] Result<DiagnosedRun> finish();

private:
    /// The typical step of a part, in full.
    struct Candidate {
        std::size_t at = 0; ///< in the run's steps
        StepTimeline step;
        StepAnalysis analysis;
        StepDiagnosis diagnosis;
        std::shared_ptr<const StepStandards> standards;
    };

    void keep(Run part, RunReport report, bool typical_asked);
    void keepReference(const Run& part, const StepSelection& selection);
    void dropFarCandidates();
    [[nodiscard]] Candidate takeTypical(const StepSelection& selection);
    [[nodiscard]] std::vector<StageTimes> stages() const;

    Run run_; ///< with the steps so far, without their ops
    DiagnosisOptions options_;
    RunClocks clocks_;  ///< of the last part
    Schedule observed_; ///< how the first step ran
    std::int64_t other_orders_ = 0;
    DiagnosticLog log_;
    std::vector<StepTimeline> reference_;         ///< of the first part, with their ops
    std::vector<std::size_t> reference_at_;       ///< where they are in the run's steps
    std::vector<StepAnalysis> analyses_;          ///< totals, one per run_.steps
    std::vector<StepAccounting> accounts_;        ///< likewise
    std::vector<Candidate> candidates_;           ///< of parts that have requested steps
    std::vector<std::vector<StageTimes>> stages_; ///< per part
    PartFindings findings_;
};

} // namespace bubblescope
