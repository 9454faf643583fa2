#pragma once

#include "core/aadiff/coverage.h"
#include "core/analysis/anomalies/anomaly.h"
#include "core/analysis/clocks/run_clocks.h"
#include "core/analysis/memory_use.h"
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

/// The times of one chunk's ops: medians over all micro-batches and steps; 0 for kinds that it does not run alone.
/// Halves of overlapped pairs do not count, because they last as long as the pair.
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

/// The stage times by rank, then chunk, over the steps that are neither warm-up nor outliers. All steps must have the
/// same p and v.
[[nodiscard]] std::vector<StageTimes> stageTimes(std::span<const StepTimeline> steps, const StepSelection& selection);

/// A report of all steps of a run.
struct WholeRun {
    std::size_t windows =
        1; ///< number of parts of the run that were judged one after another; if above 1, only one step has its ops
};
/// A report of the latest steps of a run that is still in progress.
struct LatestSteps {};

/// Everything that `analyze` reports about a run: what the command line prints and the app shows. It does not depend on
/// where the steps come from: loaded files, a recording that is too large to load, or a running job.
struct RunReport {
    std::variant<WholeRun, LatestSteps> covers;
    StepRequest request;     ///< as requested by the user
    StepSelection selection; ///< of the run's steps: which of them count, and which is typical
    /// One per timeline of the run, including those that are set aside. Contains only totals
    /// (StepAnalysis::keepTotals()), except for the typical step or if all were requested in full.
    std::vector<StepAnalysis> steps;
    std::vector<StepAccounting> accounts;           ///< one per step: what its time was spent on
    StepDiagnosis typical;                          ///< of the typical step; StepDiagnoses computes those of others
    std::shared_ptr<const StepStandards> standards; ///< used for the diagnosis of the typical step
    std::vector<StageTimes> stages;
    StepPeriod period;              ///< the mean period from one step to the next
    MemoryUse memory;               ///< as recorded
    std::vector<Anomaly> anomalies; ///< most expensive for a step first
    RunClocks clocks;
    std::optional<CheckCoverage> coverage; ///< of checks in bubbles; none if the trace has no checks

    /// Index into `steps` of the typical one.
    [[nodiscard]] std::size_t typicalStep() const { return selection.typicalTimeline(); }
    /// Computes diagnoses of `run`'s steps; this must be the report of `run`, which must outlive the result.
    [[nodiscard]] StepDiagnoses diagnosesOf(const Run& run) const { return {run, standards}; }
    /// The number of windows of steps that were judged one after another.
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
