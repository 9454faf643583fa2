#pragma once

#include "core/aadiff/coverage.h"
#include "core/analysis/anomalies/anomaly.h"
#include "core/analysis/clocks/run_clocks.h"
#include "core/analysis/period/step_period.h"
#include "core/analysis/step_diagnosis.h"
#include "core/cost/cost_model.h"
#include "core/recognise/run.h"
#include "core/theory/analysis.h"
#include "core/timeline/step_selection.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <variant>
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

/// A report of all steps of a run.
struct WholeRun {
    std::size_t windows = 1; ///< so many parts of the run were judged one after another; only one step has its ops then
};
/// A report of the last steps of a run that goes on.
struct LatestSteps {};

/// Everything `analyze` says about a run: what the command line prints and the GUI shows. It means the same wherever
/// the steps come from: loaded files, a recording that is too large to load, a run that goes on.
struct RunReport {
    std::variant<WholeRun, LatestSteps> covers;
    StepRequest request;     ///< what was asked for
    StepSelection selection; ///< of the run's steps: which of them count, and which one is typical
    /// One per timeline of the run, those that are set aside as well. Totals alone (StepAnalysis::keepTotals()), but of
    /// the typical step, or where all were wanted in full.
    std::vector<StepAnalysis> steps;
    std::vector<StepAccounting> accounts;           ///< one per step: where its time went
    StepDiagnosis typical;                          ///< of the typical step; StepDiagnoses makes those of others
    std::shared_ptr<const StepStandards> standards; ///< by which the typical step was diagnosed
    std::vector<StageTimes> stages;
    StepPeriod period;              ///< from step to step
    std::vector<Anomaly> anomalies; ///< what costs a step most first
    RunClocks clocks;
    std::optional<CheckCoverage> coverage; ///< of checks in bubbles; none where the trace holds none

    /// Index into `steps` of the typical one.
    [[nodiscard]] std::size_t typicalStep() const { return selection.typicalTimeline(); }
    /// What makes diagnoses of `run`'s steps, of which this is the report. `run` must outlive the result.
    [[nodiscard]] StepDiagnoses diagnosesOf(const Run& run) const { return {run, standards}; }
    /// How many windows of steps were judged one after another.
    [[nodiscard]] std::size_t windows() const {
        const auto* const whole = std::get_if<WholeRun>(&covers);
        return whole == nullptr ? 1 : whole->windows;
    }
};

/// A run whose ranks are on one clock, with its report.
struct DiagnosedRun {
    Run run;
    RunReport report;
};

} // namespace bubblescope
