#pragma once

#include "core/analysis/model_use.h"
#include "core/analysis/report.h"
#include "core/analysis/steps/findings_log.h"
#include "core/analysis/steps/step_window.h"
#include "core/live/live_view.h"
#include "core/live/run_streams.h"

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::live {

struct LiveOptions {
    /// Steps that are kept in full: the first ones of a run as a reference, and the most recent ones.
    struct Kept {
        std::size_t first = 8;
        std::size_t last = 24;
    };

    StepAssembler::Limits assembly;
    Kept window;
    Thresholds thresholds;
    std::size_t history = 2000;        ///< maximum number of reduced steps to keep
    std::optional<TrainedModel> model; ///< the model for which device utilisation is reported
    std::string own_clock;             ///< as in RunStreams
};

/// Follows a run while it is in progress, and maintains the data for a live view. Analyzes each step as `analyze` does,
/// in a sliding window, and searches the window for findings. Memory is bounded for any input, by the sizes that the
/// run reports and by the limits in the options.
///
/// Normally, the window is searched after each step. If several steps are due, or steps arrive so fast that searches
/// would use more than a tenth of a core, one search covers several steps: at most eight, and at most an eighth of the
/// run's steps. A run's last two steps are searched individually. Every step is kept until it has been searched.
class LiveAnalyzer final : public RunStreams {
public:
    explicit LiveAnalyzer(LiveOptions options = {});

    /// Searches the closed steps that have not been searched, for callers that stop following the run. Returns the
    /// resulting events. The steps of a run are also searched before a new run replaces it.
    [[nodiscard]] std::vector<LiveEvent> conclude();

    [[nodiscard]] const std::deque<LiveStep>& steps() const { return steps_; } ///< closed steps, oldest first
    /// currently open, worst first
    [[nodiscard]] const std::vector<LoggedFinding>& anomalies() const { return findings_.current(); }
    /// Steps that are kept in full; null before the first step.
    [[nodiscard]] const StepWindow* window() const { return window_.get(); }
    /// The latest steps with their report and open findings, as in StepWindow::latest(). Empty before the first step.
    [[nodiscard]] std::optional<DiagnosedRun> latest(std::size_t max_ops) const;

    /// Empty before a run starts, or if its model is unknown.
    [[nodiscard]] std::optional<ModelUse> use() const;

private:
    void onBegin(const RunInfo& info) override;
    void onDevice(const CheckPlace& place, CheckedDevice device) override;
    void onStep(ClosedStep closed, FollowingSteps following) override;
    void onNoMoreSteps(std::size_t open) override;
    void onLateChecks(std::vector<CheckRecord> checks) override;

    [[nodiscard]] LiveStep judge(ClosedStep closed);
    [[nodiscard]] bool searchIsDue(const FollowingSteps& following) const;
    [[nodiscard]] std::vector<Anomaly> searchWindow() const;
    void search(std::optional<TimeNs> longest_replica);
    void keepStep(LiveStep step);

    LiveOptions options_;
    std::unique_ptr<StepWindow> window_;
    FindingsLog findings_;
    std::deque<LiveStep> steps_;
    int unsearched_ = 0;   ///< number of steps since the last search
    int last_closed_ = -1; ///< step that was closed most recently
    TimeNs searched_at_{0};
};

} // namespace bubblescope::live
