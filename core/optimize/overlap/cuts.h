#pragma once

#include "core/optimize/overlap/streams.h"

#include <optional>

namespace bubblescope::overlap {

/// One pass alone, or the backward and then the forward, each in one piece. All-reduces are unchanged.
[[nodiscard]] Plan uncut(Operators ops, Pass pass);
[[nodiscard]] Plan uncut(Operators backward, Operators forward);

/// Both passes cut after every all-reduce, with alternating pieces: B0 F0 B1 F1 … Every all-reduce runs on its own
/// stream.
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
    int stopped_at = 0; ///< the forward op that is too long
};

/// The rule of PaddlePaddle's pass. For each all-reduce of the backward in turn, it takes as many further forward ops
/// as fit into `budget`, according to its cost table (Operator::assumed), but none after a forward's all-reduce. If
/// there is at least one, it cuts the backward after its all-reduce and the forward after these ops. The pieces are
/// issued in turn. All-reduces at the end of a piece that is followed by another run on their own stream; the others
/// block the compute stream. It never gets past a forward op that exceeds the budget.
[[nodiscard]] RuleCut cutByBudget(Operators backward, Operators forward, TimeNs budget);

/// Like cutByBudget(), but cuts each forward op that it would not get past into slices that fit, if possible. Cuts no
/// other op, because slices cost time.
[[nodiscard]] RuleCut cutByBudgetSplitting(const Operators& backward, Operators forward, TimeNs budget, int max_slices,
                                           double slice_loss);

/// The plan with the shortest pair, with every all-reduce on its own stream and issued directly after the op that
/// produces its input. Exact: no other issue order of the two passes' compute ops is shorter.
///
/// The problem is a job shop of two jobs (the passes) on two machines (the streams). Dynamic programming over (i, j,
/// last): i backward and j forward ops are issued, the last one from pass `last`. The rest of the plan depends on the
/// past only through two things: when the compute stream is free, and when each pass's last all-reduce ends. Later is
/// never better: every rule of StreamState takes maxima of these times and adds constants. A way into a state is
/// therefore dropped if another way is at least as early in all of these times; the others are kept. Times before the
/// compute stream's are equivalent to that time, because nothing can start earlier. Ways that cannot beat the best plan
/// found so far by simple rules are also dropped: the compute stream still has to run all remaining ops.
///
/// Memory and time grow with the product of the passes' operator counts: about a million states for two passes of 700
/// operators.
[[nodiscard]] Plan searchCuts(Operators backward, Operators forward, const StreamRules& rules);

} // namespace bubblescope::overlap
