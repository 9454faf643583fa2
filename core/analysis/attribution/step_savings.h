#pragma once

#include "core/analysis/attribution/attribution.h"
#include "core/analysis/attribution/step_excess.h"
#include "core/base/large_list.h"
#include "core/graph/step_replay.h"

#include <vector>

namespace bubblescope {

/// By how much a step is shorter without a cause of waits: it is replayed as observed, and again with the ops,
/// transfers or starts concerned no longer than is usual.
///
/// Refers to a StepExcess and a replay of the same step, which must outlive it. One thread calls. Each replay is linear
/// in units.
class StepSavings {
public:
    StepSavings(const StepExcess& excess, const StepReplay& replay)
        : excess_(excess), graph_(excess.graph()), replay_(replay) {}

    /// Replays the step as observed, on the calling thread. find() does so itself where this was not called before.
    void replayObserved();
    /// Sets `saves` and `idle` of each cause; to be called once. Two replays run at a time. The memory of `spare` is
    /// used for one.
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
    ListToFill<TimeNs> observed_; ///< durations of the observed step, once it was replayed
    TaskTimes observed_ends_;     ///< of that replay
    TimeNs observed_length_{0};   ///< the same
};

} // namespace bubblescope
