#include "core/diagnose/accounting/replay.h"

#include <algorithm>

namespace bubblescope {
namespace {

template <bool kPairs, bool kTransfers>
TimeNs run(const StepGraph& graph, std::span<const UnitIndex> order, const ReplayTimes& times,
           std::vector<TimeNs>& ends) {
    std::vector<TimeNs> free(graph.last.size(), TimeNs{0});
    const auto arrival = [&](std::size_t side, std::size_t unit, TimeNs ready) {
        const UnitIndex from = graph.input[side][unit];
        if (from == kNoUnit) return ready;
        const TimeNs there = ends[StepGraph::at(from)] + (kTransfers ? (*times.transfers)[side][unit] : TimeNs{0});
        return std::max(ready, there);
    };
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const std::size_t unit = order.empty() ? i : StepGraph::at(order[i]);
        TimeNs& rank_free = free[StepGraph::at(graph.rank[unit])];
        TimeNs ready = arrival(0, unit, rank_free);
        if constexpr (kPairs) ready = arrival(1, unit, ready);
        if (!times.delays.empty()) ready += times.delays[unit];
        rank_free = ends[unit] = ready + times.durations[unit];
    }
    return free.empty() ? TimeNs{0} : *std::ranges::max_element(free);
}

} // namespace

TimeNs replay(const StepGraph& graph, std::span<const UnitIndex> order, const ReplayTimes& times,
              std::vector<TimeNs>& ends) {
    ends.resize(graph.rank.size());
    if (graph.hasPairs()) {
        return times.transfers != nullptr ? run<true, true>(graph, order, times, ends)
                                          : run<true, false>(graph, order, times, ends);
    }
    return times.transfers != nullptr ? run<false, true>(graph, order, times, ends)
                                      : run<false, false>(graph, order, times, ends);
}

} // namespace bubblescope
