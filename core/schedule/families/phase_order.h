#pragma once

#include "core/schedule/families/registry.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace bubblescope {

/// The spec's schedule without ops: names, sizes, placement.
[[nodiscard]] inline Schedule emptySchedule(const ScheduleSpec& spec, Placement placement) {
    return {.name = spec.name,
            .flavor = spec.flavor,
            .pp = spec.pp,
            .microbatches = spec.microbatches,
            .vpp = spec.vpp,
            .placement = placement,
            .ranks = {}};
}

/// Rejects more than one chunk a rank; `hint` names the alternative. Errors: Usage.
[[nodiscard]] inline Status requireOneChunk(const ScheduleSpec& spec, std::string hint) {
    if (spec.vpp == 1) return {};
    return usageError(fmt::format("{} has one chunk a rank, not {}", spec.name, spec.vpp), std::move(hint));
}

/// A rank's list of the common shape: `warmup` forwards, then forwards and backwards in alternation, then
/// the remaining backwards. `forward(k)` and `backward(k)` return the k-th op of each kind, k < count.
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
