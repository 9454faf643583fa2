#pragma once

#include "core/graph/dispatch.h"
#include "core/recognise/run.h"

#include <cstdint>
#include <optional>
#include <span>

namespace bubblescope {

/// Ranks that chose their ops by readiness, see RankDispatch.
struct DispatchMatch {
    DispatchRule rule = DispatchRule::Ready;
    Schedule hint;
    std::int64_t choices = 0;         ///< times at which a rank started an op
    std::int64_t explained = 0;       ///< choices of the rule's first op, given the inputs that had clearly arrived
    std::int64_t moved = 0;           ///< choices of another op than the next one in the hint
    std::int64_t moved_explained = 0; ///< of these, choices of the rule's first op
};

/// Finds the rule and the family's order that explain at least 98 % of the choices in these steps, and 95 % of those
/// that differ from the order. Nothing if there is none, or if all steps have the same order, which then is fixed.
/// O(families · ops · log ops).
[[nodiscard]] std::optional<DispatchMatch> matchDispatch(std::span<const StepTimeline> steps);

/// If the order of a run equals none of a family: looks for ranks that choose their ops. If found, the order is no
/// longer a departure: the hint becomes Run::closest and Run::closest_order.
void explainDispatch(Run& run);

/// True if explainDispatch() has found that ranks choose their ops.
[[nodiscard]] inline bool choosesOps(const Run& run) {
    return run.closest_order.has_value() && !run.departure.has_value();
}

} // namespace bubblescope
