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

} // namespace bubblescope
