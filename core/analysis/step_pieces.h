#pragma once

#include "core/timeline/step_timeline.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace bubblescope {

/// Number of ops per step, assuming that all steps of a run have about the same size.
[[nodiscard]] inline std::size_t opsOfStep(std::span<const StepTimeline> steps) {
    return steps.empty() ? 0 : steps.front().opCount();
}

/// Maximum number of ops, over all cores, whose analysis data (a few hundred bytes per op) is in memory.
inline constexpr std::size_t kOpsAtOnce = 1 << 21;

/// Number of pieces of consecutive steps into which a run is divided for several threads. Steps with the same order
/// share work and memory. The shared data is larger than the steps themselves, so runs with large steps get few pieces.
[[nodiscard]] inline std::size_t stepPieces(std::span<const StepTimeline> steps) {
    constexpr std::size_t kMostPieces = 64;
    constexpr std::size_t kFewestSteps = 4;
    if (steps.empty()) return 0;
    const std::size_t most = kOpsAtOnce / std::max<std::size_t>(1, opsOfStep(steps));
    return std::clamp<std::size_t>(std::min(steps.size() / kFewestSteps, most), 1, kMostPieces);
}

/// The first step of a piece. For the piece after the last, returns the number of steps.
[[nodiscard]] constexpr std::size_t firstOfPiece(std::size_t piece, std::size_t pieces, std::size_t steps) {
    return piece * steps / pieces;
}

} // namespace bubblescope
