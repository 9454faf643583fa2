#pragma once

#include "core/timeline/step_timeline.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace bubblescope {

/// The number of ops per step; steps of a run are mostly of equal size.
[[nodiscard]] inline std::size_t opsOfStep(std::span<const StepTimeline> steps) {
    return steps.empty() ? 0 : steps.front().opCount();
}

/// An analysis keeps its data, a few hundred bytes per op, for at most this many ops at a time, on all cores together.
inline constexpr std::size_t kOpsAtOnce = 1 << 21;

/// The number of pieces, each of consecutive steps, that a run is divided into for several threads. Steps of one order
/// share work and memory. That memory is larger than the steps themselves, so large steps are divided into few pieces.
[[nodiscard]] inline std::size_t stepPieces(std::span<const StepTimeline> steps) {
    constexpr std::size_t kMostPieces = 64;
    constexpr std::size_t kFewestSteps = 4;
    if (steps.empty()) return 0;
    const std::size_t most = kOpsAtOnce / std::max<std::size_t>(1, opsOfStep(steps));
    return std::clamp<std::size_t>(std::min(steps.size() / kFewestSteps, most), 1, kMostPieces);
}

/// The first step of a piece; for the piece after the last, the number of steps.
[[nodiscard]] constexpr std::size_t firstOfPiece(std::size_t piece, std::size_t pieces, std::size_t steps) {
    return piece * steps / pieces;
}

} // namespace bubblescope
