#include "core/graph/bindings.h"

#include <algorithm>

namespace bubblescope {

std::vector<Binding> bindings(const StepGraph& graph) {
    std::vector<Binding> result(graph.rank.size());
    for (UnitIndex unit = 0; unit < graph.size(); ++unit) {
        const LatestPredecessor latest = graph.latestInput(unit);
        if (latest.task == kNoUnit) continue;
        const bool by_input = latest.slot > 0;
        result[StepGraph::at(unit)] = {latest.task, static_cast<Latest>(static_cast<int>(latest.slot) - 1),
                                       by_input && graph.crosses(latest.slot - 1, StepGraph::at(unit)), latest.arrival};
    }
    return result;
}

std::vector<UnitIndex> criticalUnits(const StepGraph& graph, const std::vector<Binding>& bindings) {
    std::vector<UnitIndex> path;
    if (graph.size() == 0) return path;
    const auto last = std::ranges::max_element(graph.end);
    for (auto unit = static_cast<UnitIndex>(last - graph.end.begin()); unit != kNoUnit;
         unit = bindings[StepGraph::at(unit)].unit)
        path.push_back(unit);
    return path;
}

} // namespace bubblescope
