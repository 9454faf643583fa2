#include "core/analysis/whatif/host_gaps.h"

#include <algorithm>

namespace bubblescope {

void HostGaps::add(const StepGraph& graph, const StepKnowledge& known) {
    if (known.records_lost) return;
    for (std::size_t unit = 0; unit < graph.rank.size(); ++unit) {
        if (graph.latest[unit] == Latest::Begin || graph.kind[unit] == OpKind::Optimizer) continue;
        const TimeNs delay = graph.delay[unit];
        const TimeNs gap = delay > known.clock_error ? TimeNs{0} : std::max(TimeNs{0}, delay);
        for (const RunOp kind : {runOp(graph.kind[unit]), RunOp::Pair}) {
            Sum& sum = sums_[{graph.rank[unit], kind}];
            sum.time += gap;
            ++sum.count;
        }
    }
}

TimeNs HostGaps::of(Rank rank, RunOp kind) const {
    const auto* const sum = findByKind(kind, [&](RunOp wanted) -> const Sum* {
        const auto found = sums_.find({rank.value, wanted});
        return found == sums_.end() ? nullptr : &found->second;
    });
    return sum == nullptr ? TimeNs{0} : sum->time / sum->count;
}

TimeNs HostGaps::mean() const {
    Sum all;
    for (const auto& [place, sum] : sums_) {
        if (place.second != RunOp::Pair) continue;
        all.time += sum.time;
        all.count += sum.count;
    }
    return all.count == 0 ? TimeNs{0} : all.time / all.count;
}

} // namespace bubblescope
