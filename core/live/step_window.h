#pragma once

#include "core/analysis/report.h"
#include "core/live/live_view.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace bubblescope::live {

/// The steps of a run that are at hand in full: its first ones, as what is usual, and its last ones. Each new step is
/// analysed as `analyze` does, and findings are looked for among all that are here. Memory is bounded by the number of
/// steps.
class StepWindow {
public:
    struct Limits {
        std::size_t first = 8; ///< step numbers kept of the run's beginning
        std::size_t last = 24;
    };
    StepWindow(const RunInfo& info, const Thresholds& thresholds, Limits limits);

    /// The timelines of one step number, one per replica, on one clock, and the checks that ran in them, as far as they
    /// were heard. What is to be kept of each.
    std::vector<ReducedReplica> add(std::vector<StepTimeline> timelines, const RunClocks& clocks,
                                    std::vector<CheckRecord> checks = {});
    /// Checks of steps that were added before; those of steps that are not at hand any more are passed over.
    void addChecks(std::vector<CheckRecord> checks);
    void setDevice(const CheckPlace& place, CheckedDevice device);

    /// What is found in the steps at hand, what costs a step most first. Empty before the third step.
    [[nodiscard]] std::vector<Anomaly> findings() const;

    /// What analyze would know of these steps; valid until add().
    [[nodiscard]] const Run& run() const { return run_; }
    [[nodiscard]] const std::vector<StepAnalysis>& analyses() const { return analyses_; }
    [[nodiscard]] const std::vector<StepDiagnosis>& diagnoses() const { return diagnoses_; }
    [[nodiscard]] const RunClocks& clocks() const { return clocks_; }
    /// Rises with all that is added.
    [[nodiscard]] std::int64_t changes() const { return changes_; }

private:
    void nameSchedule(const StepTimeline& first);
    void trim();
    void takeChecks(std::vector<CheckRecord> checks);
    void countChecks(std::size_t from);

    Run run_;
    Thresholds thresholds_;
    Limits limits_;
    RunClocks clocks_;
    std::unique_ptr<StepAnalyzer> analyzer_;
    std::vector<StepAnalysis> analyses_;   ///< one per run_.steps
    std::vector<StepDiagnosis> diagnoses_; ///< likewise; each as of when its step came
    std::int64_t changes_ = 0;
};

} // namespace bubblescope::live
