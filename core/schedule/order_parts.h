#pragma once

#include "core/schedule/action.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope {

/// The op at `index` of a rank's list, or both ops of the overlapped pair that begins there. The op must not be the
/// second of a pair.
[[nodiscard]] inline std::span<const Op> opOrPairAt(std::span<const Op> ops, std::size_t index) {
    const bool pair = ops[index].overlapped && index + 1 < ops.size() && ops[index + 1].overlapped;
    return ops.subspan(index, pair ? 2 : 1);
}

/// The ops that an action computes; none for other actions.
[[nodiscard]] inline std::span<const Op> opsOf(const Schedule& order, Rank rank, const Action& action) {
    if (action.kind != ActionKind::Compute) return {};
    return opOrPairAt(order.ranks[rank.index()], static_cast<std::size_t>(action.op));
}

/// Number of slices into which an order splits each sequence.
[[nodiscard]] inline int slicesOf(const Schedule& order) {
    int slices = 1;
    for (const auto& ops : order.ranks) {
        for (const Op& op : ops)
            slices = std::max(slices, op.sequence + 1);
    }
    return slices;
}

/// Pairs of different ranks: the first sends activations to the second, which returns gradients. A pair occurs once for
/// each two stages that it joins.
[[nodiscard]] inline std::vector<std::pair<Rank, Rank>> linkedRanks(const Schedule& order) {
    std::vector<std::pair<Rank, Rank>> links;
    for (int stage = 0; stage < order.stages(); ++stage) {
        const int next = stageAfter(order.placement, stage);
        if (next >= order.stages()) continue;
        const Rank low = locate(order.placement, order.pp, Stage{stage}).rank;
        const Rank high = locate(order.placement, order.pp, Stage{next}).rank;
        if (low != high) links.emplace_back(low, high);
    }
    return links;
}

} // namespace bubblescope
