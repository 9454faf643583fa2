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

/// Median times of a chunk's ops over all micro-batches and steps; 0 for kinds that never run alone. Halves of
/// overlapped pairs do not count, because they last as long as the pair.
struct StageTimes {
    Rank rank;
    Chunk chunk;
    Stage stage;
    OpTimes median;

    /// Time of one micro-batch: F + B, or F + I + W.
    [[nodiscard]] TimeNs work() const {
        return median.forward + median.backward + median.input_grad + median.weight_grad;
    }
};

/// The stage times by rank, then chunk, over all steps except warm-up and outliers. All steps must have the same p and
/// v.
[[nodiscard]] std::vector<StageTimes> stageTimes(std::span<const StepTimeline> steps, const StepSelection& selection);

/// A report on all steps of a run.
struct WholeRun {
    /// Number of windows analysed one after another; with several windows, only one step keeps its ops.
    std::size_t windows = 1;
};
/// A report on the latest steps of a run that is still in progress.
struct LatestSteps {};

/// The complete result of `analyze` for a run, as printed by the command line and displayed in the app. The result does
/// not depend on where the steps come from: loaded files, a recording that is too large to load, or a running job.
struct RunReport {
    std::variant<WholeRun, LatestSteps> covers;
    StepRequest request;     ///< as requested by the user
    StepSelection selection; ///< selected steps of the run, and the typical one
    /// One per timeline of the run, including steps outside the selection. Complete for the typical step, or for all
    /// steps if requested; otherwise only totals (StepAnalysis::keepTotals()).
    std::vector<StepAnalysis> steps;
    std::vector<StepAccounting> accounts;           ///< accounting per step
    StepDiagnosis typical;                          ///< diagnosis of the typical step; StepDiagnoses computes others
    std::shared_ptr<const StepStandards> standards; ///< used for the diagnosis of the typical step
    std::vector<StageTimes> stages;
    StepPeriod period;              ///< mean time from the start of one step to the next
    MemoryUse memory;               ///< as recorded
    std::vector<Anomaly> anomalies; ///< sorted by cost per step, highest first
    RunClocks clocks;
    std::optional<CheckCoverage> coverage; ///< coverage of checks in bubbles; none if the trace has no checks

    /// Index of the typical step in `steps`.
    [[nodiscard]] std::size_t typicalStep() const { return selection.typicalTimeline(); }
    /// Computes diagnoses of steps of `run`, the run that this report describes. `run` must outlive the result.
    [[nodiscard]] StepDiagnoses diagnosesOf(const Run& run) const { return {run, standards}; }
    /// Number of windows of steps that were analysed one after another.
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
