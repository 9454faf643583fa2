#include "core/graph/step_replay.h"

#include <algorithm>

namespace bubblescope {

ObservedStep::ObservedStep(const StepTimeline& step, const StepKnowledge& known)
    : graph(step), latest(bindings(graph)), delays(splitDelays(step, graph, latest, known)) {}

bool ObservedStep::assign(const StepTimeline& step, const StepKnowledge& known) {
    const bool same_order = graph.assign(step);
    latest = bindings(graph);
    delays = splitDelays(step, graph, latest, known);
    return same_order;
}

StepReplay::StepReplay(const StepGraph& graph, std::span<const UnitIndex> order)
    : order_(order.begin(), order.end()), needs_(graph.rank.size()), pairs_(graph.hasPairs()),
      last_(graph.last.size(), 0), ends_(graph.rank.size() + 1, TimeNs{0}) {
    for (std::size_t place = 0; place < needs_.size(); ++place) {
        const std::size_t unit = order_.empty() ? place : StepGraph::at(order_[place]);
        Needs& needs = needs_[place];
        for (std::size_t side = 0; side < graph.sides(); ++side)
            needs.input[side] = graph.input[side][unit] + 1;
        std::int32_t& own = last_[StepGraph::at(graph.rank[unit])];
        needs.previous = own;
        own = static_cast<std::int32_t>(unit) + 1;
    }
}

template <bool kTransfers, bool kDelays, bool kPairs>
void StepReplay::replay(const StepTimes& times) {
    TimeNs* const ends = ends_.data();
    const auto arrival = [&](const Needs& needs, std::size_t side, std::size_t unit) {
        const TimeNs made = ends[needs.input[side]];
        return kTransfers ? made + (*times.transfers)[side][unit] : made;
    };
    for (std::size_t place = 0; place < needs_.size(); ++place) {
        const std::size_t unit = order_.empty() ? place : StepGraph::at(order_[place]);
        const Needs& needs = needs_[place];
        TimeNs start = std::max(ends[needs.previous], arrival(needs, 0, unit));
        if constexpr (kPairs) start = std::max(start, arrival(needs, 1, unit));
        if constexpr (kDelays) start += times.delays[unit];
        ends[unit + 1] = start + times.durations[unit];
    }
}

TimeNs StepReplay::run(const StepTimes& times) {
    const auto withPairs = [&]<bool kPairs>() {
        const bool delayed = !times.delays.empty();
        if (times.transfers == nullptr)
            return delayed ? replay<false, true, kPairs>(times) : replay<false, false, kPairs>(times);
        return delayed ? replay<true, true, kPairs>(times) : replay<true, false, kPairs>(times);
    };
    pairs_ ? withPairs.operator()<true>() : withPairs.operator()<false>();
    TimeNs length{0};
    for (const std::int32_t last : last_)
        length = std::max(length, ends_[static_cast<std::size_t>(last)]);
    return length;
}

} // namespace bubblescope
