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

struct DiagnosisOptions {
    Thresholds thresholds;
    ClockUse clocks = ClockUse::Auto;
    std::vector<std::int64_t> memory_estimate; ///< estimated bytes per rank; empty if unknown
    StepRequest request;                       ///< steps to report
    bool steps_in_full = false; ///< true to keep all data of RunReport::steps, for views that display several steps;
                                ///< requires a single window
};

/// Limits of a window: the number of steps, and the number of ops and transfers, so that windows with large steps
/// contain fewer steps.
struct WindowLimits {
    std::size_t steps = 256;
    std::size_t records = std::size_t{1} << 20;
    std::size_t large_steps = 32;
    std::size_t large_records = std::size_t{1} << 23;

    /// No limits: a single window.
    [[nodiscard]] static constexpr WindowLimits none() {
        constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
        return {kAll, kAll, kAll, kAll};
    }
    [[nodiscard]] bool isFull(std::size_t of_steps, std::size_t of_records) const {
        return (of_steps >= steps && of_records >= records) || (of_steps >= large_steps && of_records >= large_records);
    }
    /// Like isFull(), but for one and a half windows, because up to half a window may remain at the end of a run.
    [[nodiscard]] bool isFullAndAHalf(std::size_t of_steps, std::size_t of_records) const {
        return isFull(2 * of_steps / 3, 2 * of_records / 3);
    }
};

/// Diagnoses a run window by window, with steps from `source`. The steps of a window are compared with the usual times
/// in the window. If the run has one window, all data of its steps is kept. Otherwise, the ops of steps are dropped
/// when the next window is read. The remaining data has a fixed size per rank, so memory use is bounded by the size of
/// the windows. Some of the first steps are kept and compared with every window, so that slow changes can be detected.
/// Findings that recur in several windows are merged (FindingsLog). At the end, findings about the complete run, such
/// as a change of the step time, are derived from all steps. Each window has a candidate for the typical step; the one
/// closest to the median keeps its ops and its diagnosis. Stage medians are the medians of the windows' medians.
///
/// A run with checks is a single window, regardless of the limits. The next window is read during the analysis of the
/// current one. Errors: those of the source and of selectSteps(), and Cancelled. Input if there are no steps.
[[nodiscard]] Result<DiagnosedRun> diagnoseSteps(StepSource& source, const DiagnosisOptions& options,
                                                 const WindowLimits& limits, const JobControl* control = nullptr);

/// A run converted to one clock, with information about the ranks' original clocks.
struct AlignedRun {
    Run run;
    RunClocks clocks;
};

/// Errors: as for estimateClocks().
[[nodiscard]] Result<AlignedRun> alignedRun(Run run, const DiagnosisOptions& options = {});

/// The complete diagnosis of a loaded run, for the command line, the app and Python: aligns clocks and analyses the
/// run. `run.steps` must not be empty (loadRun never returns such a run). `control` can stop the analysis between
/// steps. Errors: as for estimateClocks() and selectSteps(), and Cancelled.
[[nodiscard]] Result<DiagnosedRun> diagnoseRun(Run run, const DiagnosisOptions& options = {},
                                               const JobControl* control = nullptr);

/// The report on a run that is aligned to `clocks` or needs no alignment. `run.steps` must not be empty and must
/// contain the requested steps.
[[nodiscard]] RunReport analyzeRun(Run run, const DiagnosisOptions& options = {}, RunClocks clocks = {});

} // namespace bubblescope
