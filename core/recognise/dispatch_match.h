#pragma once

#include "core/graph/dispatch.h"
#include "core/recognise/run.h"

#include <cstdint>
#include <optional>
#include <span>

namespace bubblescope {

/// Describes ranks that chose their ops by readiness (see RankDispatch).
struct DispatchMatch {
    DispatchRule rule = DispatchRule::Ready;
    Schedule hint;
    std::int64_t choices = 0;         ///< number of times that a rank started an op
    std::int64_t explained = 0;       ///< number of choices that match the rule, given inputs certain to have arrived
    std::int64_t moved = 0;           ///< number of choices that differ from the next op in the hint
    std::int64_t moved_explained = 0; ///< number of moved choices that match the rule
};

/// Finds the rule and the family's order that explain at least 98 % of the choices in these steps, and at least 95 % of
/// the choices that differ from the order. None if there is no such rule, or if all steps have the same order, which
/// indicates a fixed order. O(families · ops · log ops).
[[nodiscard]] std::optional<DispatchMatch> matchDispatch(std::span<const StepTimeline> steps);

/// If no family has the order of a run, checks whether ranks choose their ops. If the ranks choose their ops, the order
/// is no longer reported as a departure: the hint becomes Run::closest and Run::closest_order.
void explainDispatch(Run& run);

/// True if explainDispatch() found that ranks choose their ops.
[[nodiscard]] inline bool choosesOps(const Run& run) {
    return run.closest_order.has_value() && !run.departure.has_value();
}

} // namespace bubblescope
