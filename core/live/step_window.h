#pragma once

#include "core/analysis/accounting/usual_times.h"
#include "core/analysis/report.h"
#include "core/live/live_view.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace bubblescope::live {

/// The ops and transfers of a step.
[[nodiscard]] std::size_t recordsOf(const StepTimeline& step);

/// The steps of a run that are kept in full: its first ones, as the reference, and its last ones. Each new step is
/// analysed as `analyze` does, and findings are derived from all kept steps. Memory is bounded by the number of steps.
class StepWindow {
public:
    struct Limits {
        std::size_t first = 8; ///< number of steps kept from the run's beginning
        std::size_t last = 24;
    };
    StepWindow(const RunInfo& info, const Thresholds& thresholds, Limits limits);

    /// Adds the timelines of one step number, one per replica, on one clock, and the checks that ran in them, as far as
    /// received. Returns what is to be kept of each.
    std::vector<ReducedReplica> add(std::vector<StepTimeline> timelines, const RunClocks& clocks,
                                    std::vector<CheckRecord> checks = {});
    /// Adds checks of steps that were added before; those of steps that are no longer kept are ignored.
    void addChecks(std::vector<CheckRecord> checks);
    void setDevice(const CheckPlace& place, CheckedDevice device);

    /// Findings in the kept steps, the most expensive per step first. Empty before the third step.
    [[nodiscard]] std::vector<Anomaly> findings() const;

    /// The kept steps as `analyze` would see them; valid until add().
    [[nodiscard]] const Run& run() const { return run_; }
    [[nodiscard]] const std::vector<StepAnalysis>& analyses() const { return analyses_; }
    [[nodiscard]] const std::vector<StepAccounting>& accounts() const { return accounts_; }
    [[nodiscard]] const RunClocks& clocks() const { return clocks_; }
    [[nodiscard]] std::size_t records() const { return records_; } ///< ops and transfers of the kept steps
    /// Increases with everything that is added.
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
    std::vector<StepSamples> samples_;     ///< one per run_.steps
    std::vector<StepAnalysis> analyses_;   ///< likewise
    std::vector<StepAccounting> accounts_; ///< likewise; each as of the arrival of its step
    std::size_t records_ = 0;
    std::int64_t changes_ = 0;
};

} // namespace bubblescope::live
