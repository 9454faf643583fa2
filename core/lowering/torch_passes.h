#pragma once

#include "core/base/result.h"
#include "core/schedule/action.h"

#include <vector>

namespace bubblescope {

/// Rules for when a rank gathers and frees the weights of its stages and reduces their gradients.
struct WeightRules {
    int max_active_stages = 3;
    int lookahead = 3; ///< number of stages to gather ahead
    bool defer_reduce_grad_wait = false;
};

/// A rank's ops with UNSHARD, RESHARD, REDUCE_GRAD and WAIT_REDUCE_GRAD inserted as PyTorch's _add_unshard_reshard and
/// _add_reduce_grad do. Error: Usage for an overlapped pair that uses more stages than may be active.
[[nodiscard]] Result<std::vector<Action>> withWeightActions(const Schedule& order, Rank rank, const WeightRules& rules);

/// Moves waits for sends forward so that no rank has more than `limit` sends outstanding, as PyTorch's
/// _add_wait_send_budget does. Before a send that would exceed the limit, the rank waits for the oldest send whose
/// receive is certainly posted by then, otherwise for the oldest one for which waiting closes no cycle. Every send must
/// have one wait and one receive. Errors: Usage, naming the send before which there is no such wait; Input if the
/// actions already form a cycle.
[[nodiscard]] Status limitOutstandingSends(LoweredSchedule& lowered, int limit);

} // namespace bubblescope
