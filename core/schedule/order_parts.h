#pragma once

#include "core/schedule/action.h"

#include <algorithm>
#include <cstddef>
#include <span>

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

} // namespace bubblescope
