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

/// The analysed run that is searched for anomalies. Refers to its parts, which must outlive it.
struct AnomalyInput {
    const Run& run;
    const std::vector<StepAnalysis>& analyses; ///< one per Run::steps
    const StepSelection& selection;            ///< of the run's steps
    const RunClocks& clocks;
    const Thresholds& limits;
    std::span<const std::int64_t> memory_estimate = {}; ///< bytes per rank; empty where nothing was estimated
    StepKnowledge known = {};                           ///< for replays of steps, see knownOf()
    std::span<const StepReplays> replays = {};          ///< per step; empty where no check took time
    const CheckCoverage* coverage = nullptr;            ///< null where the trace holds no checks
    const SliceEvidence& slices;
    std::vector<TimeNs> communication = {};   ///< per step: what it would save without any, by its accounting
    const ExecutedUnits* first_ran = nullptr; ///< how the first step ran; null where it is not at hand
    /// So many timelines of the beginning are of an earlier part of the run: others are compared with them, but what is
    /// wrong in them was found before.
    std::size_t reference = 0;

    /// Index of the step for which costs of lasting faults are reported.
    [[nodiscard]] std::size_t typicalStep() const { return selection.typicalTimeline(); }
    [[nodiscard]] StepKnowledge knownOf(std::size_t step) const {
        return replays.empty() ? known : StepKnowledge{known.clock_error, known.records_lost, replays[step]};
    }
    [[nodiscard]] TimeNs wall(std::size_t step) const { return analyses[step].wall; }
    /// As a fraction of a step; 0 of an empty one.
    [[nodiscard]] double fraction(TimeNs time, std::size_t step) const {
        const auto whole = static_cast<double>(wall(step).count());
        return whole > 0 ? static_cast<double>(time.count()) / whole : 0;
    }
    /// True if a fault that costs a step this much is to be reported: enough, and more than the clocks' error.
    [[nodiscard]] bool worthReporting(TimeNs cost, std::size_t step) const {
        return fraction(cost, step) >= limits.least_cost && cost > TimeNs{0};
    }
    [[nodiscard]] Severity severityOf(TimeNs cost, std::size_t step) const {
        return fraction(cost, step) >= limits.serious_cost ? Severity::Serious : Severity::Warning;
    }
    /// Sets in how many steps it was seen and, where they are known, its costs.
    void setSeen(Anomaly& anomaly, Cases cases) const {
        cases.dropBefore(reference);
        anomaly.seen = cases.occurrence(run.steps, anomaly.replica);
        if (const TimeNs cost = cases.typicalCost(); cost > TimeNs{0}) anomaly.cost = cost;
    }
    /// The same for one of all steps, or of those from a number on, which costs each of them `anomaly.cost`.
    void setLasting(Anomaly& anomaly, int from = 0) const {
        Cases cases;
        cases.addAll(run.steps, anomaly.replica, anomaly.cost, from);
        cases.dropBefore(reference);
        anomaly.seen = cases.occurrence(run.steps, anomaly.replica);
    }
};

using Anomalies = std::vector<Anomaly>;

/// "rank 3", or "rank 3 of replica 1" where there are several.
[[nodiscard]] Sentence nameRank(int replica, Rank rank, int replicas);

// One for each group of kinds; they append what they find.
/// Among replicas and ranks, and from some step on.
void findStragglers(const AnomalyInput& input, const OpSamples& samples, Anomalies& found);
/// Among ranks that share a stage.
void findSlowPeers(const AnomalyInput& input, Anomalies& found);
/// Of ranks that are not stragglers, and that do not wait for a slow peer.
void findSlowStages(const AnomalyInput& input, const OpSamples& samples, Anomalies& found);
/// Returns how long micro-batches take, by the run's steps, see microbatchLevels(); nothing where their data is alike.
[[nodiscard]] std::vector<std::vector<double>> findDataImbalance(const AnomalyInput& input, const OpSamples& samples,
                                                                 Anomalies& found);
/// But for those of ranks and steps found above. `levels` are of findDataImbalance(): what a longer micro-batch takes
/// longer is usual.
void findSlowOps(const AnomalyInput& input, const OpSamples& samples, const std::vector<std::vector<double>>& levels,
                 Anomalies& found);
/// slow-link, degrading-link
void findSlowLinks(const AnomalyInput& input, const TransferSamples& transfers, Anomalies& found);
/// But for what slow links cost, found above.
void findExposedCommunication(const AnomalyInput& input, Anomalies& found);
void findGradientExchange(const AnomalyInput& input, Anomalies& found);
/// But for optimizers and the exchange of gradients, found above.
void findTimeBetweenSteps(const AnomalyInput& input, Anomalies& found);
void findOrderFaults(const AnomalyInput& input,
                     Anomalies& found); ///< order-departure, missing, duplicate, out of place
void findBlockingReceives(const AnomalyInput& input, Anomalies& found);
void findBubblesAboveForm(const AnomalyInput& input, Anomalies& found); ///< uses all causes found above
void findLaunchBound(const AnomalyInput& input, Anomalies& found);
void findLongWarmUp(const AnomalyInput& input, Anomalies& found);
void findStepTimeChanges(const AnomalyInput& input, Anomalies& found);
/// Steps that are long now and then, where what was found in them does not explain it.
/// Processes that wait for a core.
void findStarvedHosts(const AnomalyInput& input, Anomalies& found);
void findLongSteps(const AnomalyInput& input, Anomalies& found);
/// clock-skew, causality-violation
void findClockFaults(const AnomalyInput& input, const TransferSamples& transfers, Anomalies& found);
void findLostRecords(const AnomalyInput& input, Anomalies& found);
void findMemoryFaults(const AnomalyInput& input, Anomalies& found);
void findAadiffFaults(const AnomalyInput& input, Anomalies& found); ///< aadiff-mismatch, aadiff-unchecked

/// What shows in the ops and transfers of steps. The run may be a part of another one.
[[nodiscard]] Anomalies findInSteps(const AnomalyInput& input);
/// Adds what shows in a run as a whole, given what was found in its steps, and sorts all: what costs the run most
/// first, then what costs nothing that is known. Steps need not have their ops.
void findInWholeRun(const AnomalyInput& input, Anomalies& found);

/// All of them, in that order.
[[nodiscard]] Anomalies findAnomalies(const AnomalyInput& input);

} // namespace bubblescope
