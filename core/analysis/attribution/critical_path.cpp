#include "core/analysis/attribution/critical_path.h"

#include <algorithm>

namespace bubblescope {
namespace {

/// The latest end of every unit that lets the step end in time, from the last unit backwards.
std::vector<TimeNs> slacks(const StepGraph& graph) {
    std::vector<TimeNs> latest(graph.rank.size(), graph.wall);
    for (UnitIndex unit = graph.size() - 1; unit >= 0; --unit) {
        const std::size_t i = StepGraph::at(unit);
        const TimeNs delay = std::max(TimeNs{0}, graph.delay[i]);
        const TimeNs ready = latest[i] - graph.duration(unit) - delay;
        const auto limit = [&](UnitIndex before, TimeNs lag) {
            if (before == kNoUnit) return;
            // A unit that began before its input was there shows that it did not need all of the lag.
            lag = std::min(lag, graph.start[i] - delay - graph.end[StepGraph::at(before)]);
            latest[StepGraph::at(before)] = std::min(latest[StepGraph::at(before)], ready - lag);
        };
        limit(graph.previous(i), TimeNs{0});
        for (std::size_t side = 0; side < graph.sides(); ++side)
            limit(graph.input(side, i), graph.transfer[side][i]);
    }
    for (std::size_t i = 0; i < latest.size(); ++i)
        latest[i] -= graph.end[i];
    return latest;
}

/// Walks back from the step's end.
class PathWalk {
public:
    PathWalk(const StepGraph& graph, CriticalPath& path) : path_(path), at_(graph.wall) {}

    /// What lies between `from` and where the walk has come to is of this kind.
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

CriticalPath criticalPath(const StepGraph& graph, const std::vector<Binding>& bindings) {
    CriticalPath path;
    path.slack = slacks(graph);
    if (graph.size() == 0) return path;
    const std::vector<UnitIndex> units = criticalUnits(graph, bindings);
    PathWalk walk(graph, path);
    // A window longer than its ops.
    walk.back(PathSegment::Kind::Delay, units.front(), graph.end[StepGraph::at(units.front())], path.delays);
    for (const UnitIndex unit : units) {
        const Binding& before = bindings[StepGraph::at(unit)];
        walk.back(PathSegment::Kind::Op, unit, graph.start[StepGraph::at(unit)], path.ops);
        walk.back(PathSegment::Kind::Delay, unit, before.arrival, path.delays);
        if (before.unit != kNoUnit)
            walk.back(PathSegment::Kind::Transfer, unit, graph.end[StepGraph::at(before.unit)], path.transfers);
    }
    std::ranges::reverse(path.segments);
    return path;
}

} // namespace bubblescope
