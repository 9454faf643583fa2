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
    std::vector<std::int64_t> memory_estimate; ///< bytes per rank; empty if not estimated
    StepRequest request;                       ///< steps to report
    bool steps_in_full = false; ///< keep all of RunReport::steps in full, for views that show them side by side; only
                                ///< for a single window
};

/// Limits of a window: a number of steps, and a number of ops and transfers, so that windows of large steps hold fewer
/// of them.
struct WindowLimits {
    std::size_t steps = 256;
    std::size_t records = std::size_t{1} << 20;
    std::size_t large_steps = 32;
    std::size_t large_records = std::size_t{1} << 23;

    /// One window for everything.
    [[nodiscard]] static constexpr WindowLimits none() {
        constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
        return {kAll, kAll, kAll, kAll};
    }
    [[nodiscard]] bool isFull(std::size_t of_steps, std::size_t of_records) const {
        return (of_steps >= steps && of_records >= records) || (of_steps >= large_steps && of_records >= large_records);
    }
    /// Like isFull(), for one and a half windows, because the rest at the end of a run may be half a window.
    [[nodiscard]] bool isFullAndAHalf(std::size_t of_steps, std::size_t of_records) const {
        return isFull(2 * of_steps / 3, 2 * of_records / 3);
    }
};

/// Diagnoses a run whose steps come from `source`, window by window. The steps of a window are judged together, against
/// what is usual in the window. A run of one window has all its steps in full. In a longer run, steps lose their ops
/// when the next window comes, and what remains has a fixed size per rank, so memory is bounded by the windows. Some of
/// the first steps are kept and compared with every window, so that slow changes still show. Findings of several
/// windows at one place are merged (FindingsLog); findings about the whole run, such as a change of the step time, are
/// derived from all steps at the end. The typical step is chosen from those of the windows: the one closest to the
/// median keeps its ops and its diagnosis. Medians of stages are medians over the windows' medians.
///
/// A run with checks is a single window, regardless of the limits. The next window is read while one is judged. Errors:
/// those of the source and of selectSteps(), and Cancelled. Input if there are no steps.
[[nodiscard]] Result<DiagnosedRun> diagnoseSteps(StepSource& source, const DiagnosisOptions& options,
                                                 const WindowLimits& limits, const JobControl* control = nullptr);

/// A run whose ranks are on one clock, and what is known about their clocks.
struct AlignedRun {
    Run run;
    RunClocks clocks;
};

/// Errors: as for estimateClocks().
[[nodiscard]] Result<AlignedRun> alignedRun(Run run, const DiagnosisOptions& options = {});

/// The whole diagnosis of a loaded run, for the command line, the app and Python: aligns its clocks and analyses it.
/// `run.steps` must not be empty (loadRun never returns such a run). `control` may stop it between steps. Errors: as
/// for estimateClocks() and selectSteps(), and Cancelled.
[[nodiscard]] Result<DiagnosedRun> diagnoseRun(Run run, const DiagnosisOptions& options = {},
                                               const JobControl* control = nullptr);

/// The report of a run whose clocks are aligned according to `clocks`, or need no alignment. `run.steps` must not be
/// empty and must contain the requested steps.
[[nodiscard]] RunReport analyzeRun(Run run, const DiagnosisOptions& options = {}, RunClocks clocks = {});

} // namespace bubblescope
