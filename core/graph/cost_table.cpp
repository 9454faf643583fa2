#include "core/graph/cost_table.h"

namespace bubblescope {

CostTable::CostTable(const Schedule& schedule, const CostModel& costs)
    : costs_(costs), pp_(schedule.pp), placement_(schedule.placement) {
    for (int s = 0; s < std::max(static_cast<int>(costs.stages.size()), 1); ++s) {
        auto& row = times_.emplace_back();
        for (const OpKind kind :
             {OpKind::Forward, OpKind::Backward, OpKind::BackwardInput, OpKind::BackwardWeight, OpKind::Optimizer})
            row[static_cast<std::size_t>(kind)] = costs.opTime(kind, Stage{s});
    }
    for (int s = 0; s < schedule.stages(); ++s)
        rank_of_.push_back(locate(schedule.placement, schedule.pp, Stage{s}).rank);
    const auto addLink = [&](int from, int to) {
        transfers_.push_back({costs.transferTime(Payload::Activation, Rank{from}, Rank{to}),
                              costs.transferTime(Payload::Gradient, Rank{from}, Rank{to})});
    };
    for (int r = 0; r < pp_; ++r) {
        addLink(r, (r + 1) % pp_);
        addLink(r, (r + pp_ - 1) % pp_);
    }
    if (!joins(placement_)) return;
    const int trunk = encodersOf(placement_).ranks();
    joins_ = {joinedStage(placement_, trunk), trunk};
    addLink(joins_.first, joins_.second);
    addLink(joins_.second, joins_.first);
}

TimeNs CostTable::pair(const OpGraph& graph, OpIndex index, OpIndex partner) const {
    if (costs_.measured != nullptr) {
        const auto first = costs_.measured->op(graph.rank(index), graph.op(index));
        const auto second = costs_.measured->op(graph.rank(partner), graph.op(partner));
        if (first || second) return std::max(first.value_or(TimeNs{0}), second.value_or(TimeNs{0}));
    }
    return costs_.pairTime(graph.op(index).kind, op(graph, index), graph.op(partner).kind, op(graph, partner));
}

int CostTable::stream(Rank from, const Transfer& out) const {
    switch (costs_.transfers.streams) {
    case CommStreams::Unlimited: return -1;
    case CommStreams::PerDirection: return 2 * from.value + (out.payload == Payload::Activation ? 0 : 1);
    case CommStreams::PerLink: return static_cast<int>(way(from, out.to));
    case CommStreams::PerRank: return 2 * from.value;
    }
    return -1;
}

TimeNs CostTable::longest() const {
    TimeNs most = costs_.overlapped.value_or(TimeNs{0});
    for (const auto& row : times_)
        most = std::max(most, *std::ranges::max_element(row));
    for (const auto& row : transfers_)
        most = std::max(most, *std::ranges::max_element(row));
    if (costs_.measured != nullptr) most = std::max(most, costs_.measured->longest());
    return most;
}

} // namespace bubblescope
