#include "core/analysis/attribution/critical_path.h"

#include "core/base/large_list.h"

#include <algorithm>

namespace bubblescope {
namespace {

/// The time from each unit's end to the latest end with which the step still ends in time.
std::vector<TimeNs> slacks(const StepGraph& graph) {
    const auto delay = [&graph](UnitIndex unit) { return std::max(TimeNs{0}, graph.delay[StepGraph::at(unit)]); };
    TaskTimes latest(graph.rank.size(), graph.wall);
    backwardPass(
        graph.tasks(), latest,
        [&](const EdgePlace& edge) {
            if (edge.from == kNoUnit) return TimeNs{0};
            const std::size_t unit = StepGraph::at(edge.task);
            const TimeNs lag = lagOf(graph.holds, graph.transfer, edge.slot, unit);
            // A unit that started before its input had arrived shows that it did not need all of the lag.
            return std::min(lag, graph.start[unit] - delay(edge.task) - graph.end[StepGraph::at(edge.from)]);
        },
        [&](UnitIndex unit) { return latest[unit] - graph.duration(unit) - delay(unit); });
    std::vector<TimeNs> slacks;
    reserveLarge(slacks, graph.rank.size());
    for (UnitIndex unit = 0; unit < graph.size(); ++unit)
        slacks.push_back(latest[unit] - graph.end[StepGraph::at(unit)]);
    return slacks;
}

/// Walks back from the step's end.
class PathWalk {
public:
    PathWalk(const StepGraph& graph, CriticalPath& path) : path_(path), at_(graph.wall) {}

    /// Adds a segment of this kind from `from` to the current position of the walk.
    void back(PathSegment::Kind kind, UnitIndex unit, TimeNs from, TimeNs& sum) {
        if (from >= at_) return;
        path_.segments.push_back({kind, unit, from, at_});
        sum += at_ - from;
        at_ = from;
    }

private:
    CriticalPath& path_;
    TimeNs at_;
};

} // namespace

CriticalPath criticalPath(const StepGraph& graph, const std::vector<Binding>& bindings, const DelayParts& parts) {
    CriticalPath path;
    path.slack = slacks(graph);
    if (graph.size() == 0) return path;
    const std::vector<UnitIndex> units = criticalUnits(graph, bindings);
    PathWalk walk(graph, path);
    // The window is longer than its ops.
    walk.back(PathSegment::Kind::Delay, units.front(), graph.end[StepGraph::at(units.front())], path.delays);
    for (const UnitIndex unit : units) {
        const Binding& before = bindings[StepGraph::at(unit)];
        walk.back(PathSegment::Kind::Op, unit, graph.start[StepGraph::at(unit)], path.ops);
        const TimeNs arrival = graph.start[StepGraph::at(unit)] - graph.delay[StepGraph::at(unit)];
        walk.back(PathSegment::Kind::Delay, unit, arrival, path.delays);
        if (before.unit != kNoUnit)
            walk.back(PathSegment::Kind::Transfer, unit, graph.end[StepGraph::at(before.unit)], path.transfers);
    }
    std::ranges::reverse(path.segments);
    path.segments.shrink_to_fit(); // they are kept with the step
    TimeNs known{0};
    const auto sum = [&](Cause cause, const std::vector<TimeNs>& part) {
        if (part.empty()) return;
        TimeNs& time = path.delayed[indexOf(cause)];
        for (const UnitIndex unit : units)
            time += part[StepGraph::at(unit)];
        known += time;
    };
    sum(Cause::Communication, parts.communication);
    sum(Cause::Peer, parts.peer);
    sum(Cause::Replay, parts.replay);
    sum(Cause::LateStart, parts.late);
    path.delayed[indexOf(Cause::Unknown)] = path.delays - known;
    return path;
}

} // namespace bubblescope
