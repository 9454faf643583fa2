#include "core/analysis/attribution/step_savings.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace bubblescope {
namespace {

constexpr bool isOfOps(RootCauseKind kind) {
    return kind == RootCauseKind::SlowOp || kind == RootCauseKind::SlowStage || kind == RootCauseKind::SlowRank;
}

/// Visits a rank's units in the order in which it ran them.
template <class Visit>
void eachUnitOf(const StepGraph& graph, Rank rank, Visit visit) {
    UnitIndex latest = kNoUnit;
    for (const UnitIndex unit : graph.unitsOf(rank)) {
        if (unit == latest) continue; // the second half of a pair
        latest = unit;
        visit(unit);
    }
}

/// Visits transfers of a payload between two ranks only.
template <class Visit>
void eachTransfer(const StepGraph& graph, Visit visit) {
    for (std::size_t side = 0; side < graph.sides(); ++side) {
        for (std::size_t unit = 0; unit < graph.rank.size(); ++unit) {
            if (graph.crosses(side, unit)) visit(side, unit);
        }
    }
}

} // namespace

void StepSavings::replayObserved() {
    observed_ = observedDurations();
    observed_length_ = replay_.run({observed_, &graph_.transfer, excess_.delays(), graph_.holds}, observed_ends_);
}

void StepSavings::find(std::vector<RootCause>& causes, TaskTimes spare) {
    if (causes.empty()) return;
    if (observed_.empty()) replayObserved();
    // A replay needs lists of its own, so at most two run at once: one in the lists of the observed step and one in the
    // spare ones.
    constexpr std::size_t kLanes = 2;
    std::array<ListToFill<TimeNs>, kLanes> durations{std::move(observed_)};
    std::array<TaskTimes, kLanes> ends{std::move(observed_ends_), std::move(spare)};
    parallelGroups(std::min(kLanes, causes.size()), graph_.rank.size(), [&](std::size_t lane) {
        if (durations[lane].empty()) durations[lane] = observedDurations();
        for (std::size_t i = lane; i < causes.size(); i += kLanes) {
            RootCause& root_cause = causes[i];
            root_cause.saves = observed_length_ - lengthWithout(root_cause, durations[lane], ends[lane]);
            // A rank's bubble is the step's length minus the rank's ops.
            root_cause.idle.assign(graph_.last.size(), root_cause.saves);
            if (isOfOps(root_cause.kind)) root_cause.idle[root_cause.rank.index()] -= root_cause.excess;
        }
    });
}

ListToFill<TimeNs> StepSavings::observedDurations() const {
    ListToFill<TimeNs> durations;
    resizeLarge(durations, graph_.rank.size());
    for (UnitIndex unit = 0; unit < graph_.size(); ++unit)
        durations[StepGraph::at(unit)] = graph_.duration(unit);
    return durations;
}

/// Length of the replay without a cause. `durations` are the observed ones before and after the call.
TimeNs StepSavings::lengthWithout(const RootCause& root_cause, ListToFill<TimeNs>& durations, TaskTimes& ends) const {
    if (root_cause.kind == RootCauseKind::SlowLink) {
        const InputTimes transfers = atTypicalTime(root_cause);
        return replay_.run({durations, &transfers, excess_.delays(), graph_.holds}, ends);
    }
    if (!isOfOps(root_cause.kind)) {
        const std::vector<TimeNs> delays = onTime(root_cause);
        return replay_.run({durations, &graph_.transfer, delays, graph_.holds}, ends);
    }
    addExcess(root_cause, -1, durations);
    const TimeNs length = replay_.run({durations, &graph_.transfer, excess_.delays(), graph_.holds}, ends);
    addExcess(root_cause, 1, durations);
    return length;
}

/// Adds the excess of a slow op, stage or rank to its ops' durations, `times` times.
void StepSavings::addExcess(const RootCause& root_cause, int times, ListToFill<TimeNs>& durations) const {
    if (root_cause.unit) {
        const std::size_t unit = StepGraph::at(*root_cause.unit);
        durations[unit] += times * excess_.ofKind(root_cause.kind, unit);
        return;
    }
    eachUnitOf(graph_, root_cause.rank, [&](UnitIndex unit) {
        if (!root_cause.chunk || graph_.chunk[StepGraph::at(unit)] == root_cause.chunk)
            durations[StepGraph::at(unit)] += times * excess_.ofKind(root_cause.kind, StepGraph::at(unit));
    });
}

/// All transfers, with those of a slow link limited to the typical time.
InputTimes StepSavings::atTypicalTime(const RootCause& link) const {
    InputTimes transfers = graph_.transfer;
    eachTransfer(graph_, [&](std::size_t side, std::size_t unit) {
        const UnitIndex from = graph_.input(side, unit);
        if (graph_.rank[StepGraph::at(from)] != link.rank.value || graph_.rank[unit] != link.peer->value) return;
        transfers[side][unit] = std::min(transfers[side][unit], excess_.typicalTransfer(graph_.way[side][unit]));
    });
    return transfers;
}

/// All delays except a rank's delays of one kind.
std::vector<TimeNs> StepSavings::onTime(const RootCause& root_cause) const {
    std::vector<TimeNs> delays = excess_.delays();
    const std::vector<TimeNs>& part = excess_.delaysOf(root_cause.kind);
    for (std::size_t unit = 0; unit < part.size(); ++unit) {
        if (graph_.rank[unit] == root_cause.rank.value) delays[unit] -= part[unit];
    }
    return delays;
}

} // namespace bubblescope
