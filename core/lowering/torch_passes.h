#pragma once

#include "core/base/result.h"
#include "core/schedule/action.h"

#include <vector>

namespace bubblescope {

/// Rules that determine when a rank gathers and frees the weights of its stages and reduces their gradients.
struct WeightRules {
    int max_active_stages = 3;
    int lookahead = 3; ///< number of stages whose weights are gathered in advance
    bool defer_reduce_grad_wait = false;
};

/// Inserts UNSHARD, RESHARD, REDUCE_GRAD and WAIT_REDUCE_GRAD into a rank's ops, as PyTorch's _add_unshard_reshard and
/// _add_reduce_grad do. Error: Usage if an overlapped pair uses more stages than may be active.
[[nodiscard]] Result<std::vector<Action>> withWeightActions(const Schedule& order, Rank rank, const WeightRules& rules);

/// Moves the waits for sends to earlier positions so that no rank has more than `limit` outstanding sends, as PyTorch's
/// _add_wait_send_budget does. Before a send that would exceed the limit, the rank waits for the oldest send whose
/// receive is certainly posted by then, or else for the oldest send for which waiting causes no cycle. Every send must
/// have exactly one wait and one receive. Errors: Usage, with the send for which no such wait exists; Input if the
/// actions already form a cycle.
[[nodiscard]] Status limitOutstandingSends(LoweredSchedule& lowered, int limit);

} // namespace bubblescope
