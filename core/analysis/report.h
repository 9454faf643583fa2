#pragma once

#include "core/aadiff/coverage.h"
#include "core/analysis/anomalies/anomaly.h"
#include "core/analysis/anomalies/thresholds.h"
#include "core/analysis/clocks/run_clocks.h"
#include "core/analysis/step_diagnosis.h"
#include "core/base/job.h"
#include "core/cost/cost_model.h"
#include "core/recognise/run.h"
#include "core/theory/analysis.h"
#include "core/timeline/step_selection.h"
#include "core/timeline/step_timeline.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope {

/// What one chunk's ops take: medians over all micro-batches and steps; 0 for kinds it does not run on
/// their own. Halves of overlapped pairs do not count: they last as long as the pair.
struct StageTimes {
    Rank rank;
    Chunk chunk;
    Stage stage;
    OpTimes median;

    /// Work of one micro-batch: F + B, or F + I + W.
    [[nodiscard]] TimeNs work() const {
        return median.forward + median.backward + median.input_grad + median.weight_grad;
    }
};

/// By rank, then chunk, of the steps that are neither warm-up nor outliers. All steps must have the same p and v.
[[nodiscard]] std::vector<StageTimes> stageTimes(std::span<const StepTimeline> steps, const StepSelection& selection);

/// Everything `analyze` says about a run: what the command line prints and the GUI shows.
struct RunReport {
    StepRequest request;     ///< as ReportOptions gave it
    StepSelection selection; ///< of the run's steps: which of them count, and which one is typical
    /// One per timeline of the run, those that are set aside as well. Totals alone (StepAnalysis::keepTotals()), but of
    /// the typical step, or where all were wanted in full.
    std::vector<StepAnalysis> steps;
    std::vector<StepAccounting> accounts; ///< one per step: where its time went
    /// Of the typical step; StepDiagnoses makes those of others. Empty in a report of live steps (live::recentSteps()).
    StepDiagnosis typical;
    /// What diagnoses of single steps take from the run. Null in a report of live steps.
    std::shared_ptr<const StepStandards> standards;
    std::vector<StageTimes> stages;
    std::vector<Anomaly> anomalies;        ///< what costs a step most first
    RunClocks clocks;                      ///< as ReportOptions gave them
    std::optional<CheckCoverage> coverage; ///< of checks in bubbles; none where the trace holds none
    std::size_t parts = 1;                 ///< in which the run was judged, see PartwiseDiagnosis

    /// Index into `steps` of the typical one.
    [[nodiscard]] std::size_t typicalStep() const { return selection.typicalTimeline(); }
    /// What makes diagnoses of `run`'s steps, of which this is the report. `run` must outlive the result.
    [[nodiscard]] StepDiagnoses diagnosesOf(const Run& run) const {
        return standards != nullptr ? StepDiagnoses(run, standards) : StepDiagnoses(run, selection, clocks.bound());
    }
};

/// What a report takes besides the run.
struct ReportOptions {
    Thresholds thresholds;
    RunClocks clocks;                          ///< of estimateClocks(); without it all ranks count as of one clock
    std::vector<std::int64_t> memory_estimate; ///< bytes per rank; empty where nothing was estimated
    StepRequest request;                       ///< which steps to report
    bool steps_in_full = false;                ///< RunReport::steps are all in full: views show them side by side
    bool part_of_run = false;                  ///< findings are those of steps alone, see findInSteps()
    std::size_t reference = 0;                 ///< of the run's timelines, see AnomalyInput
};

/// What a user may ask of a diagnosis.
struct DiagnosisOptions {
    Thresholds thresholds;
    ClockUse clocks = ClockUse::Auto;
    std::vector<std::int64_t> memory_estimate; ///< bytes per rank; empty where nothing was estimated
    StepRequest request;                       ///< which steps to report
    bool steps_in_full = false;                ///< as for a report
};

/// A run whose ranks are on one clock, with its report.
struct DiagnosedRun {
    Run run;
    RunReport report;
};

/// A run whose ranks are on one clock, and what is known about their clocks.
struct AlignedRun {
    Run run;
    RunClocks clocks;
};

/// Errors: as estimateClocks().
[[nodiscard]] Result<AlignedRun> alignedRun(Run run, const DiagnosisOptions& options = {});

/// The whole diagnosis of a loaded run, for the command line, the GUI and everybody else: aligns its clocks and
/// analyses it. `run.steps` must not be empty (loadRun never returns such a run). `control` may stop it between steps.
/// Errors: as estimateClocks() and selectSteps(), and Cancelled.
[[nodiscard]] Result<DiagnosedRun> diagnoseRun(Run run, const DiagnosisOptions& options = {},
                                               const JobControl* control = nullptr);

/// The same for a run whose clocks are aligned, or need not be, and whose raw slices are in this process, if anywhere.
/// `run.steps` must not be empty and hold what is requested.
[[nodiscard]] RunReport analyzeRun(const Run& run, const ReportOptions& options = {});
/// The same; `control` may stop it between steps. Errors: those of selectSteps(), and Cancelled.
[[nodiscard]] Result<RunReport> analyzeRun(const Run& run, const ReportOptions& options, const JobControl& control);

} // namespace bubblescope
