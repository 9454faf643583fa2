#include "core/diagnose/replay/step_replay.h"

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

/// What each node takes. `crosses` is per place in the order, which is empty where it is that of the units.
template <bool kTransfers, bool kDelays>
void fill(const StepTimes& times, std::span<const UnitIndex> order, std::span<const std::uint8_t> crosses,
          TimeNs* next) {
    for (std::size_t place = 0; place < crosses.size(); ++place) {
        const std::size_t unit = order.empty() ? place : StepGraph::at(order[place]);
        const unsigned sides = crosses[place];
        if ((sides & 1U) != 0) *next++ = kTransfers ? (*times.transfers)[0][unit] : TimeNs{0};
        if ((sides & 2U) != 0) *next++ = kTransfers ? (*times.transfers)[1][unit] : TimeNs{0};
        *next++ = times.durations[unit] + (kDelays ? times.delays[unit] : TimeNs{0});
    }
}

} // namespace

ObservedStep::ObservedStep(const StepTimeline& step, const StepKnowledge& known)
    : graph(step), latest(bindings(graph)), delays(splitDelays(step, graph, latest, known)) {}

StepReplay::StepReplay(const StepGraph& graph, std::span<const UnitIndex> order)
    : order_(order.begin(), order.end()), crosses_(graph.rank.size(), 0), node_(graph.rank.size(), kNoNode) {
    const std::size_t size = graph.rank.size();
    const std::size_t sides = graph.hasPairs() ? 2 : 1;
    dependencies_.reserve(2 * size, 3 * size);
    std::vector<NodeId> before(graph.last.size(), kNoNode); // on each rank
    for (std::size_t place = 0; place < size; ++place) {
        const std::size_t unit = order_.empty() ? place : StepGraph::at(order_[place]);
        std::array<NodeId, 2> inputs{kNoNode, kNoNode};
        for (std::size_t side = 0; side < sides; ++side) {
            const UnitIndex from = graph.input[side][unit];
            if (from == kNoUnit) continue;
            inputs[side] = node_[StepGraph::at(from)];
            if (graph.rank[StepGraph::at(from)] == graph.rank[unit]) continue;
            inputs[side] = dependencies_.add({inputs[side]});
            crosses_[place] = static_cast<std::uint8_t>(crosses_[place] | (1U << side));
        }
        NodeId& own = before[StepGraph::at(graph.rank[unit])];
        own = node_[unit] = dependencies_.add({own, inputs[0], inputs[1]});
    }
    std::ranges::copy_if(before, std::back_inserter(last_), [](NodeId node) { return node != kNoNode; });
    durations_.resize(static_cast<std::size_t>(dependencies_.size()));
    ends_.resize(durations_.size());
}

TimeNs StepReplay::run(const StepTimes& times) {
    const auto filled = times.transfers == nullptr ? (times.delays.empty() ? fill<false, false> : fill<false, true>)
                                                   : (times.delays.empty() ? fill<true, false> : fill<true, true>);
    filled(times, order_, crosses_, durations_.data());
    dependencies_.replay(durations_, ends_);
    TimeNs length{0};
    for (const NodeId node : last_)
        length = std::max(length, ends_[static_cast<std::size_t>(node)]);
    return length;
}

} // namespace bubblescope
