#pragma once

#include "core/optimize/overlap/streams.h"

namespace bubblescope::overlap {

/// The plan with the shortest pair, every all-reduce on its own stream and issued directly after the op that makes its
/// input. Exact: no order in which the two passes' compute ops can be issued gives a shorter one.
///
/// The problem is a job shop of two jobs (the passes) on two machines (the streams). Dynamic programming over (i, j,
/// last) = i backward and j forward ops are issued, the last of that pass. The rest of the plan depends on the past
/// only by when the compute stream is free and when each pass's last all-reduce ends. Later is never better: every rule
/// of StreamState takes maxima of these times and adds constants. So of two ways into a state one is dropped if it is
/// nowhere earlier, and all others are kept. Times before the compute stream's are equivalent to it, since nothing can
/// start earlier. Ways that cannot beat the best plan found so far by simple rules are dropped too: the compute stream
/// still has all remaining ops to run.
///
/// Memory and time grow with the product of the passes' operator counts: about a million states for two passes of 700
/// operators.
[[nodiscard]] Plan searchCuts(Operators backward, Operators forward, const StreamRules& rules);

} // namespace bubblescope::overlap
