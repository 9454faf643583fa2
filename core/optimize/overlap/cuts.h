#pragma once

#include "core/optimize/overlap/streams.h"

namespace bubblescope::overlap {

/// A single pass, or the backward followed by the forward, each in one piece. All-reduces are unchanged.
[[nodiscard]] Plan uncut(Operators ops, Pass pass);
[[nodiscard]] Plan uncut(Operators backward, Operators forward);

/// Both passes are cut after every all-reduce, and pieces alternate: B0 F0 B1 F1 … Every all-reduce runs on the
/// communication stream.
[[nodiscard]] Plan cutAtEveryAllReduce(Operators backward, Operators forward);

/// The reason why a cutting rule stopped before the backward's last all-reduce.
enum class CutStop {
    None,
    ForwardTooLong, ///< the next forward op alone exceeds the budget
    ForwardUsedUp,  ///< no forward op is left
};

struct RuleCut {
    Plan plan;
    CutStop stop = CutStop::None;
    int stopped_at = 0; ///< index of the forward op that is too long
};

/// The rule used by PaddlePaddle's pass. For each all-reduce of the backward in turn, it takes the next forward ops
/// that fit into `budget` according to its cost table (Operator::assumed). It stops after a forward's all-reduce.
/// If at least one op fits, the backward is cut after its all-reduce and the forward after these ops. The pieces are
/// issued alternately. All-reduces at the end of a piece that is followed by another piece run on a separate stream.
/// All other all-reduces block the compute stream. The rule never gets past a forward op that exceeds the budget.
[[nodiscard]] RuleCut cutByBudget(Operators backward, Operators forward, TimeNs budget);

/// Like cutByBudget(), but if a forward op exceeds the budget, splits it into slices that fit, if possible. Does not
/// split other ops, because slices cost time.
[[nodiscard]] RuleCut cutByBudgetSplitting(const Operators& backward, Operators forward, TimeNs budget, int max_slices,
                                           double slice_loss);

/// The plan with the shortest pair if every all-reduce runs on a separate stream and is issued directly after the op
/// that produces its input. Exact: no other order of issuing the two passes' compute ops is shorter.
///
/// The problem is a job shop of two jobs (the passes) on two machines (the streams). Uses dynamic programming over (i,
/// j, last): i backward and j forward ops are issued, the last one from pass `last`. The ops issued so far affect the
/// rest of the plan only by the time at which the compute stream becomes free and the end of each pass's last
/// all-reduce. A later time is never better, because every rule of StreamState takes maxima of these times and adds
/// constants. A path to a state is therefore dropped if another path is at least as early in all of these times. Times
/// before the compute stream's time are equivalent to it, because nothing can start earlier. Paths that cannot beat the
/// best plan found by simple rules are also dropped, because the compute stream must still run all remaining ops.
///
/// Memory and time grow with the product of the numbers of operators: about a million states for two passes of 700
/// operators.
[[nodiscard]] Plan searchCuts(Operators backward, Operators forward, const StreamRules& rules);

} // namespace bubblescope::overlap
