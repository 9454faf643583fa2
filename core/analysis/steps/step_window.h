#pragma once

#include "core/analysis/accounting/usual_times.h"
#include "core/analysis/anomalies/find_anomalies.h"
#include "core/analysis/anomalies/thresholds.h"
#include "core/analysis/report.h"
#include "core/analysis/steps/step_judge.h"
#include "core/analysis/steps/step_source.h"
#include "core/base/job.h"
#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace bubblescope {

/// A copy of a run without its steps and checks: the evidence for its pipeline, file metadata and raw slices.
[[nodiscard]] Run withoutSteps(const Run& run);

/// Options for the analysis of a window of steps.
struct WindowOptions {
    Thresholds thresholds = {};
    std::vector<std::int64_t> memory_estimate = {}; ///< estimated bytes per rank; empty if unknown
    bool in_full = false; ///< true to keep the full analyses of all steps, for views that display several steps
    /// True if steps will be added and removed one by one; the time of each op is then kept.
    bool slides = false;
};

/// Steps of a run that are held in memory and analysed together: all steps of a run, a part that is compared
/// with earlier steps, or the latest steps of a running job. Not thread-safe; the analysis uses all cores.
class StepWindow {
public:
    /// `run` provides everything except the steps to be added; if it has no schedule, the first step determines the
    /// schedule. If `run` has steps, they are only used for comparison, and problems in them are not reported again.
    StepWindow(Run run, WindowOptions options);
    StepWindow(const StepWindow&) = delete;
    StepWindow& operator=(const StepWindow&) = delete;

    /// Adds the next step of the run.
    void add(SourceStep step);
    /// Adds checks of steps in the window; ignores checks of steps that are no longer kept.
    void addChecks(std::vector<CheckRecord> checks);
    void setDevice(const CheckPlace& place, CheckedDevice device);

    /// Analyses the steps added since the last call, relative to the usual times in the window. Sets
    /// RunReport::selection, `standards`, `steps` and `accounts`.
    void judge();
    /// Analyses the steps added since the last call and completes the report, except `anomalies`. Linear in ops and
    /// transfers. Errors: those of selectSteps(), and Cancelled. `control` may be null.
    [[nodiscard]] Status describe(const StepRequest& request, const JobControl* control = nullptr);

    /// The anomalies in the added steps. Call this function after judge() or describe().
    [[nodiscard]] std::vector<Anomaly> search() const;
    /// Like search(), but for a window that is, or represents, the complete run. Also finds anomalies of the run as a
    /// whole. Sorted by cost per step, highest first.
    [[nodiscard]] std::vector<Anomaly> searchAsWhole() const;

    /// Keeps only the steps with the first `first` and the last `last` numbers.
    void trim(std::size_t first, std::size_t last);

    [[nodiscard]] const Run& run() const { return run_; }
    [[nodiscard]] const RunReport& report() const { return report_; }
    [[nodiscard]] RunReport& report() { return report_; }
    [[nodiscard]] std::size_t records() const { return records_; } ///< number of ops and transfers in all steps
    /// A counter that increases with every addition.
    [[nodiscard]] std::int64_t changes() const { return changes_; }
    /// Moves out the run and its report; the window cannot be used afterwards.
    [[nodiscard]] DiagnosedRun take() && { return {std::move(run_), std::move(report_)}; }

    /// The latest steps with the report that `analyze` would produce for them in a finished run. Omits steps before a
    /// large gap in step numbers, and the oldest steps if there are more than `max_ops` ops, but never the newest step.
    /// `found` contains the current findings; mismatches that checks found in these steps are added. None if the window
    /// has no steps. Linear in the ops of the window, which it copies.
    [[nodiscard]] std::optional<DiagnosedRun> latest(std::vector<Anomaly> found, std::size_t max_ops) const;

private:
    void takeChecks(std::vector<CheckRecord> checks);
    [[nodiscard]] Status setStandards(const StepRequest& request);
    [[nodiscard]] StepsToJudge unjudged() const;
    void append(JudgedSteps judged);
    void sumUp();
    [[nodiscard]] AnomalyInput searched() const;

    Run run_;
    WindowOptions options_;
    std::size_t reference_; ///< number of timelines used as reference
    RunReport report_;
    std::shared_ptr<const RunClocks> clocks_;       ///< clocks of the latest step; the report has a copy
    std::vector<StepReplays> replays_;              ///< re-executed work per step; empty if checks took no time
    std::shared_ptr<const ExecutedUnits> only_ran_; ///< what ran in the only step; null if there are several steps
    SliceEvidence slices_;                          ///< empty before describe(), or if there are no raw slices
    std::optional<StepJudge> judge_;                ///< only for sliding windows
    std::vector<StepSamples> samples_;              ///< one per step; only for sliding windows
    std::size_t records_ = 0;
    std::int64_t changes_ = 0;
};

} // namespace bubblescope
