#include "core/graph/bindings.h"

#include <algorithm>

namespace bubblescope {

std::vector<Binding> bindings(const StepGraph& graph) {
    std::vector<Binding> result(graph.rank.size());
    for (std::size_t unit = 0; unit < result.size(); ++unit) {
        Binding& binding = result[unit];
        if (const UnitIndex before = graph.previous[unit]; before != kNoUnit) {
            binding = {before, Latest::Previous, false, graph.end[StepGraph::at(before)]};
        }
        for (std::size_t side = 0; side < graph.sides(); ++side) {
            const UnitIndex from = graph.input[side][unit];
            if (from == kNoUnit) continue;
            const TimeNs arrival = graph.end[StepGraph::at(from)] + graph.transfer[side][unit];
            if (binding.unit != kNoUnit && arrival <= binding.arrival) continue;
            binding = {from, side == 0 ? Latest::FirstInput : Latest::SecondInput, graph.crosses(side, unit), arrival};
        }
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
