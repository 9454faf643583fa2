#pragma once

#include "core/analysis/attribution/attribution.h"
#include "core/analysis/attribution/step_excess.h"
#include "core/base/large_list.h"
#include "core/graph/step_replay.h"

#include <vector>

namespace bubblescope {

/// The time that a step saves without a cause of waits: the step is replayed as observed, and again with the ops,
/// transfers or starts concerned limited to their usual time.
///
/// Refers to a StepExcess and a replay of the same step, which must outlive it. Not thread-safe. Each replay is linear
/// in units.
class StepSavings {
public:
    StepSavings(const StepExcess& excess, const StepReplay& replay)
        : excess_(excess), graph_(excess.graph()), replay_(replay) {}

    /// Replays the step as observed, on the calling thread. If it was not called before, find() calls it.
    void replayObserved();
    /// Sets `saves` and `idle` of each cause. Call once. Two replays run at a time, one of them in the memory of
    /// `spare`.
    void find(std::vector<RootCause>& causes, TaskTimes spare);

private:
    [[nodiscard]] ListToFill<TimeNs> observedDurations() const;
    [[nodiscard]] TimeNs lengthWithout(const RootCause& root_cause, ListToFill<TimeNs>& durations,
                                       TaskTimes& ends) const;
    void addExcess(const RootCause& root_cause, int times, ListToFill<TimeNs>& durations) const;
    [[nodiscard]] InputTimes atTypicalTime(const RootCause& link) const;
    [[nodiscard]] std::vector<TimeNs> onTime(const RootCause& root_cause) const;

    const StepExcess& excess_;
    const StepGraph& graph_;
    const StepReplay& replay_;
    ListToFill<TimeNs> observed_; ///< durations of the observed step, after it was replayed
    TaskTimes observed_ends_;     ///< ends in that replay
    TimeNs observed_length_{0};   ///< its length in that replay
};

} // namespace bubblescope
