#include "core/analysis/anomalies/step_costs.h"

#include <algorithm>

namespace bubblescope {

StepCosts::StepCosts(const StepTimeline& step, const StepKnowledge& known)
    : step_(step), observed_(step, known), replay_(observed_.graph), delays_(observed_.delays.total()) {
    for (UnitIndex unit = 0; unit < observed_.graph.size(); ++unit)
        durations_.push_back(observed_.graph.duration(unit));
    length_ = replay_.run({durations_, &observed_.graph.transfer, delays_});
}

TimeNs StepCosts::savedByOps(const std::function<TimeNs(Rank, const TimelineOp&)>& time) {
    const StepGraph& graph = observed_.graph;
    std::vector<TimeNs> changed = durations_;
    for (std::size_t unit = 0; unit < changed.size(); ++unit) {
        const Rank rank{graph.rank[unit]};
        const TimelineOp* const ops = &step_.ranks[rank.index()][StepGraph::at(graph.op[unit])];
        if (ops->op.kind == OpKind::Optimizer) continue;
        // Off what the unit takes: of ops that overlap by the record the graph cuts the later one.
        TimeNs faster = ops[0].duration() - time(rank, ops[0]);
        if (graph.pair[unit]) faster = (faster + ops[1].duration() - time(rank, ops[1])) / 2;
        changed[unit] = std::max(TimeNs{0}, changed[unit] - faster);
    }
    return length_ - replay_.run({changed, &graph.transfer, delays_});
}

TimeNs StepCosts::savedByLink(Rank from, Rank to, TimeNs most) {
    const StepGraph& graph = observed_.graph;
    std::array<std::vector<TimeNs>, 2> changed = graph.transfer;
    for (std::size_t side = 0; side < graph.sides(); ++side) {
        for (std::size_t unit = 0; unit < durations_.size(); ++unit) {
            const UnitIndex input = graph.input(side, unit);
            if (input == kNoUnit || graph.rank[unit] != to.value) continue;
            if (graph.rank[StepGraph::at(input)] == from.value)
                changed[side][unit] = std::min(changed[side][unit], most);
        }
    }
    return length_ - replay_.run({durations_, &changed, delays_});
}

} // namespace bubblescope
