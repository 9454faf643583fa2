#include "core/diagnose/blame/critical_path.h"

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
        limit(graph.previous[i], TimeNs{0});
        for (std::size_t side = 0; side < (graph.hasPairs() ? 2U : 1U); ++side)
            limit(graph.input[side][i], graph.transfer[side][i]);
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

std::vector<Binding> bindings(const StepGraph& graph) {
    std::vector<Binding> result(graph.rank.size());
    for (std::size_t unit = 0; unit < result.size(); ++unit) {
        Binding& binding = result[unit];
        if (const UnitIndex before = graph.previous[unit]; before != kNoUnit) {
            binding = {before, Latest::Previous, false, graph.end[StepGraph::at(before)]};
        }
        for (std::size_t side = 0; side < (graph.hasPairs() ? 2U : 1U); ++side) {
            const UnitIndex from = graph.input[side][unit];
            if (from == kNoUnit) continue;
            const TimeNs arrival = graph.end[StepGraph::at(from)] + graph.transfer[side][unit];
            if (binding.unit != kNoUnit && arrival <= binding.arrival) continue;
            binding = {from, side == 0 ? Latest::FirstInput : Latest::SecondInput,
                       graph.rank[StepGraph::at(from)] != graph.rank[unit], arrival};
        }
    }
    return result;
}

CriticalPath criticalPath(const StepGraph& graph, const std::vector<Binding>& bindings) {
    CriticalPath path;
    path.slack = slacks(graph);
    if (graph.size() == 0) return path;
    const auto last = std::ranges::max_element(graph.end);
    auto unit = static_cast<UnitIndex>(last - graph.end.begin());
    PathWalk walk(graph, path);
    walk.back(PathSegment::Kind::Delay, unit, *last, path.delays); // a window longer than its ops
    while (unit != kNoUnit) {
        const Binding& before = bindings[StepGraph::at(unit)];
        walk.back(PathSegment::Kind::Op, unit, graph.start[StepGraph::at(unit)], path.ops);
        walk.back(PathSegment::Kind::Delay, unit, before.arrival, path.delays);
        if (before.unit != kNoUnit)
            walk.back(PathSegment::Kind::Transfer, unit, graph.end[StepGraph::at(before.unit)], path.transfers);
        unit = before.unit;
    }
    std::ranges::reverse(path.segments);
    return path;
}

} // namespace bubblescope
