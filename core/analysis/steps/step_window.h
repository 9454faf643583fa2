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

/// What is known of a run besides its steps and checks: how its pipeline was found, what its files state, raw slices.
[[nodiscard]] Run withoutSteps(const Run& run);

/// How a window of steps is judged.
struct WindowOptions {
    Thresholds thresholds = {};
    std::vector<std::int64_t> memory_estimate = {}; ///< bytes per rank; empty where nothing was estimated
    bool in_full = false; ///< the analyses of all steps are kept in full: views show them side by side
    /// Steps will be added and removed one by one: what each op took is kept for the medians of the next step.
    bool slides = false;
};

/// Steps of a run that are in memory in full, and are judged together: all steps of a run, a part of it that is
/// compared with earlier steps, or the latest steps of a run that goes on. One thread at a time; judging works on all
/// cores.
class StepWindow {
public:
    /// `run`: what is known of the run; without a schedule the first step names it. Its steps, which may be none, are
    /// compared with those that are added: what is wrong in them was found before.
    StepWindow(Run run, WindowOptions options);
    StepWindow(const StepWindow&) = delete;
    StepWindow& operator=(const StepWindow&) = delete;

    /// Adds the next step of the run.
    void add(SourceStep step);
    /// Adds checks of steps that were added before; those of steps that are no longer kept are ignored.
    void addChecks(std::vector<CheckRecord> checks);
    void setDevice(const CheckPlace& place, CheckedDevice device);

    /// Judges the steps that were added since, by what is usual in the window. Sets RunReport::selection, `standards`,
    /// `steps` and `accounts`.
    void judge();
    /// Judges the steps that were added since, and completes the report, but for `anomalies`. Linear in ops and
    /// transfers. Errors: those of selectSteps(), and Cancelled; null stops nothing.
    [[nodiscard]] Status describe(const StepRequest& request, const JobControl* control = nullptr);

    /// What is wrong in the steps that were added. After judge() or describe().
    [[nodiscard]] std::vector<Anomaly> search() const;
    /// The same of a window that is the whole run, or stands for it: also what shows in a run as a whole. The most
    /// expensive per step comes first.
    [[nodiscard]] std::vector<Anomaly> searchAsWhole() const;

    /// Keeps the first and the last step numbers only.
    void trim(std::size_t first, std::size_t last);

    [[nodiscard]] const Run& run() const { return run_; }
    [[nodiscard]] const RunReport& report() const { return report_; }
    [[nodiscard]] RunReport& report() { return report_; }
    [[nodiscard]] std::size_t records() const { return records_; } ///< ops and transfers of the steps
    /// Increases with everything that is added.
    [[nodiscard]] std::int64_t changes() const { return changes_; }
    /// Moves them out; the window is of no further use.
    [[nodiscard]] DiagnosedRun take() && { return {std::move(run_), std::move(report_)}; }

    /// The latest steps with their report, as `analyze` makes one of a finished run. Steps before a large gap in the
    /// numbers are left out, and so are those beyond `max_ops` ops, but for the newest step. `found` are the findings
    /// that hold now; to them come the mismatches of checks in these steps. None where the window has no step. Linear
    /// in the ops of the window, which it copies.
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
    std::size_t reference_; ///< timelines
    RunReport report_;
    std::shared_ptr<const RunClocks> clocks_;       ///< those of the latest step; the report has a copy
    std::vector<StepReplays> replays_;              ///< per step; empty where no check took time
    std::shared_ptr<const ExecutedUnits> only_ran_; ///< how the only step ran; null where there are more
    SliceEvidence slices_;                          ///< empty before describe(), and without raw slices
    std::optional<StepJudge> judge_;                ///< of a window that slides
    std::vector<StepSamples> samples_;              ///< likewise, one per step
    std::size_t records_ = 0;
    std::int64_t changes_ = 0;
};

} // namespace bubblescope
