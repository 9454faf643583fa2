#pragma once

#include "core/schedule/families/registry.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace bubblescope {

/// A spec's schedule without ops: names, sizes, placement.
[[nodiscard]] inline Schedule emptySchedule(const ScheduleSpec& spec, Placement placement) {
    return {.name = spec.name,
            .flavor = spec.flavor,
            .pp = spec.pp,
            .microbatches = spec.microbatches,
            .vpp = spec.vpp,
            .placement = placement,
            .ranks = {}};
}

/// The refusal of families that hold one chunk on each rank; `hint` says what to do instead.
[[nodiscard]] inline Status requireOneChunk(const ScheduleSpec& spec, std::string hint) {
    if (spec.vpp == 1) return {};
    return usageError(fmt::format("{} has one chunk a rank, not {}", spec.name, spec.vpp), std::move(hint));
}

/// A rank's list of the common shape: `warmup` forwards, then one forward and one backward in turn, then
/// the backwards that are left. `forward(k)` and `backward(k)` give the k-th op of each kind, k < count.
template <class Forward, class Backward>
[[nodiscard]] std::vector<Op> phaseOrder(int count, int warmup, Forward forward, Backward backward) {
    std::vector<Op> ops;
    ops.reserve(2 * static_cast<std::size_t>(count));
    for (int k = 0; k < warmup; ++k)
        ops.push_back(forward(k));
    for (int k = warmup; k < count; ++k) {
        ops.push_back(forward(k));
        ops.push_back(backward(k - warmup));
    }
    for (int k = count - warmup; k < count; ++k)
        ops.push_back(backward(k));
    return ops;
}

} // namespace bubblescope
