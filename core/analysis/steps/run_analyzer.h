#pragma once

#include "core/analysis/anomalies/thresholds.h"
#include "core/analysis/clocks/run_clocks.h"
#include "core/analysis/report.h"
#include "core/analysis/steps/step_source.h"
#include "core/base/job.h"
#include "core/base/result.h"
#include "core/recognise/run.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace bubblescope {

/// What a user may ask of a diagnosis.
struct DiagnosisOptions {
    Thresholds thresholds;
    ClockUse clocks = ClockUse::Auto;
    std::vector<std::int64_t> memory_estimate; ///< bytes per rank; empty where nothing was estimated
    StepRequest request;                       ///< which steps to report
    bool steps_in_full = false; ///< RunReport::steps are all in full: views show them side by side. Of a whole window
};

/// How much of a run is judged at a time: some steps, and some ops and transfers, or fewer steps that are large.
struct WindowLimits {
    std::size_t steps = 256;
    std::size_t records = std::size_t{1} << 20;
    std::size_t large_steps = 32;
    std::size_t large_records = std::size_t{1} << 23;

    /// One window over everything.
    [[nodiscard]] static constexpr WindowLimits none() {
        constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
        return {kAll, kAll, kAll, kAll};
    }
    [[nodiscard]] bool isFull(std::size_t of_steps, std::size_t of_records) const {
        return (of_steps >= steps && of_records >= records) || (of_steps >= large_steps && of_records >= large_records);
    }
    /// The same for a window and a half: what is left at the end of a run may be half of one.
    [[nodiscard]] bool isFullAndAHalf(std::size_t of_steps, std::size_t of_records) const {
        return isFull(2 * of_steps / 3, 2 * of_records / 3);
    }
};

/// Diagnoses a run whose steps come from `source`, window by window. The steps of a window are judged together, by what
/// is usual in them. A run of one window has all its steps in full. Of a longer one a step loses its ops when the next
/// window comes, and what remains of it is of a fixed size for each rank: memory is bounded by the windows. Some of the
/// first steps stay and are compared with every window, so that what began earlier still shows. Findings of several
/// windows at one place become one (FindingsLog); what concerns the whole run, such as a change of the step time, is
/// derived from all steps at the end. The typical step is looked for among those of the windows: the one that is
/// nearest to the median has its ops and its diagnosis. Medians of stages are those of the windows' medians.
///
/// A run with checks is one window, whatever the limits. The next window is read while one is judged.
/// Errors: those of the source, of selectSteps(), and Cancelled. Input where there is no step.
[[nodiscard]] Result<DiagnosedRun> diagnoseSteps(StepSource& source, const DiagnosisOptions& options,
                                                 const WindowLimits& limits, const JobControl* control = nullptr);

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

/// The report of a run whose clocks are aligned, as `clocks` says, or need not be. `run.steps` must not be empty and
/// hold what is requested.
[[nodiscard]] RunReport analyzeRun(Run run, const DiagnosisOptions& options = {}, RunClocks clocks = {});

} // namespace bubblescope
