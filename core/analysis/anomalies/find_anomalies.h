#pragma once

#include "core/aadiff/coverage.h"
#include "core/analysis/anomalies/anomaly.h"
#include "core/analysis/anomalies/occurrence.h"
#include "core/analysis/anomalies/samples.h"
#include "core/analysis/anomalies/slice_evidence.h"
#include "core/analysis/anomalies/thresholds.h"
#include "core/analysis/clocks/run_clocks.h"
#include "core/graph/step_replay.h"
#include "core/recognise/run.h"
#include "core/theory/analysis.h"
#include "core/timeline/step_selection.h"

#include <cstdint>
#include <span>
#include <vector>

namespace bubblescope {

/// The analysed run to search for anomalies. Stores references to objects that must outlive it.
struct AnomalyInput {
    const Run& run;
    const std::vector<StepAnalysis>& analyses; ///< one analysis per entry of Run::steps
    const StepSelection& selection;            ///< of the run's steps
    const RunClocks& clocks;
    const Thresholds& limits;
    std::span<const std::int64_t> memory_estimate = {}; ///< estimated bytes per rank; empty if unknown
    StepKnowledge known = {};                           ///< for replays of steps; see knownOf()
    std::span<const StepReplays> replays = {};          ///< re-executed work per step; empty if checks took no time
    const CheckCoverage* coverage = nullptr;            ///< null if the trace has no checks
    const SliceEvidence& slices;
    std::vector<TimeNs> communication =
        {}; ///< time that each step would save without any communication, according to the accounting
    const ExecutedUnits* first_ran = nullptr; ///< units of the first step; null if not available
    /// The first `reference` timelines are from an earlier part of the run. Later timelines are compared with these;
    /// problems in them have already been reported.
    std::size_t reference = 0;

    /// Index of the step for which the costs of lasting faults are reported.
    [[nodiscard]] std::size_t typicalStep() const { return selection.typicalTimeline(); }
    [[nodiscard]] StepKnowledge knownOf(std::size_t step) const {
        return replays.empty() ? known : StepKnowledge{known.clock_error, known.records_lost, replays[step]};
    }
    [[nodiscard]] TimeNs wall(std::size_t step) const { return analyses[step].wall; }
    /// `time` as a fraction of a step; 0 for an empty step.
    [[nodiscard]] double fraction(TimeNs time, std::size_t step) const {
        const auto whole = static_cast<double>(wall(step).count());
        return whole > 0 ? static_cast<double>(time.count()) / whole : 0;
    }
    /// True if a fault with this cost per step should be reported, because the cost is large enough and exceeds the
    /// clock error.
    [[nodiscard]] bool worthReporting(TimeNs cost, std::size_t step) const {
        return fraction(cost, step) >= limits.least_cost && cost > TimeNs{0};
    }
    [[nodiscard]] Severity severityOf(TimeNs cost, std::size_t step) const {
        return fraction(cost, step) >= limits.serious_cost ? Severity::Serious : Severity::Warning;
    }
    /// Sets the number of steps with the anomaly and, if known, the costs.
    void setSeen(Anomaly& anomaly, Cases cases) const {
        cases.dropBefore(reference);
        anomaly.seen = cases.occurrence(run.steps, anomaly.replica);
        if (const TimeNs cost = cases.typicalCost(); cost > TimeNs{0}) anomaly.cost = cost;
    }
    /// Like setSeen(), for a fault that costs `anomaly.cost` in each step, or in each step from step number `from` on.
    void setLasting(Anomaly& anomaly, int from = 0) const {
        Cases cases;
        cases.addAll(run.steps, anomaly.replica, anomaly.cost, from);
        cases.dropBefore(reference);
        anomaly.seen = cases.occurrence(run.steps, anomaly.replica);
    }
};

using Anomalies = std::vector<Anomaly>;

/// "rank 3", or "rank 3 of replica 1" if there are several.
[[nodiscard]] Sentence nameRank(int replica, Rank rank, int replicas);

// Each of the following functions searches for a group of kinds and appends what it finds.
/// Compares replicas with each other, ranks with each other, and each rank's steps with its earlier ones.
void findStragglers(const AnomalyInput& input, const OpSamples& samples, Anomalies& found);
/// Compares ranks that share a stage.
void findSlowPeers(const AnomalyInput& input, Anomalies& found);
/// Examines only ranks that are not stragglers and do not wait for a slow peer.
void findSlowStages(const AnomalyInput& input, const OpSamples& samples, Anomalies& found);
/// Returns the relative times of micro-batches for each step of the run (see microbatchLevels()); empty if all
/// micro-batches take similar times.
[[nodiscard]] std::vector<std::vector<double>> findDataImbalance(const AnomalyInput& input, const OpSamples& samples,
                                                                 Anomalies& found);
/// Skips ops of ranks and steps with findings from the functions above. `levels` is the result of findDataImbalance(),
/// because longer micro-batches are expected to take longer.
void findSlowOps(const AnomalyInput& input, const OpSamples& samples, const std::vector<std::vector<double>>& levels,
                 Anomalies& found);
/// slow-link, degrading-link
void findSlowLinks(const AnomalyInput& input, const TransferSamples& transfers, Anomalies& found);
/// Excludes the cost of slow links, which findSlowLinks() reports.
void findExposedCommunication(const AnomalyInput& input, Anomalies& found);
void findGradientExchange(const AnomalyInput& input, Anomalies& found);
/// Excludes optimizers and the exchange of gradients, which other functions report.
void findTimeBetweenSteps(const AnomalyInput& input, Anomalies& found);
void findOrderFaults(const AnomalyInput& input,
                     Anomalies& found); ///< departures from the order; missing, duplicate and misplaced ops
void findBlockingReceives(const AnomalyInput& input, Anomalies& found);
/// Sends queued behind a receive of their rank; same kind as findBlockingReceives(). Needs both sides of transfers.
void findQueuedSends(const AnomalyInput& input, Anomalies& found);
void findBubblesAboveForm(const AnomalyInput& input, Anomalies& found); ///< uses earlier findings as possible causes
void findLaunchBound(const AnomalyInput& input, Anomalies& found);
void findLongWarmUp(const AnomalyInput& input, Anomalies& found);
void findStepTimeChanges(const AnomalyInput& input, Anomalies& found);
/// Finds occasional long steps that no other finding explains, and processes that wait for a CPU core.
void findStarvedHosts(const AnomalyInput& input, Anomalies& found);
void findLongSteps(const AnomalyInput& input, Anomalies& found);
/// clock-skew, causality-violation
void findClockFaults(const AnomalyInput& input, const TransferSamples& transfers, Anomalies& found);
void findLostRecords(const AnomalyInput& input, Anomalies& found);
void findMemoryFaults(const AnomalyInput& input, Anomalies& found);
void findAadiffFaults(const AnomalyInput& input, Anomalies& found); ///< aadiff-mismatch, aadiff-unchecked

/// Anomalies of ops and transfers in steps. The run may be part of a longer run.
[[nodiscard]] Anomalies findInSteps(const AnomalyInput& input);
/// Adds anomalies of the complete run to those of its steps, and sorts all of them by total cost. Anomalies without a
/// known cost come last. The steps need not have their ops.
void findInWholeRun(const AnomalyInput& input, Anomalies& found);

/// Calls the two functions above, in that order.
[[nodiscard]] Anomalies findAnomalies(const AnomalyInput& input);

} // namespace bubblescope
