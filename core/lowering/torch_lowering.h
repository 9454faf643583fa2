#pragma once

#include "core/base/result.h"
#include "core/schedule/action.h"

#include <optional>
#include <vector>

namespace bubblescope {

/// Options of PyTorch's pipeline runtime, under its own names.
struct TorchLowering {
    bool defer_pp_recv = false; ///< place each receive just before the op that needs it
    /// Posts each receive at most this many ops ahead of the op that needs it; none: as early as PyTorch does. Not an
    /// option of PyTorch, but it runs the resulting actions.
    std::optional<int> receives_ahead;
    int max_active_stages = 3; ///< number of stages whose weights a rank keeps
    /// Number of stages for which each rank gathers weights ahead; "auto": min(rank + 2, max_active_stages).
    enum class Lookahead { Full, Auto, Listed } lookahead = Lookahead::Full;
    std::vector<int> lookahead_list;
    std::optional<int> max_outstanding_sends;
    bool defer_reduce_grad_wait = false;
};

/// The actions that PyTorch 2.15 executes for an order, as _PipelineScheduleRuntime._prepare_schedule_with_comms
/// generates them. Optimizer ops, which its runtime does not have, get no action.
///
/// Errors: Usage if PyTorch rejects the order, naming the same action, and for orders that PyTorch cannot represent
/// (two pipelines in opposite directions, split sequences). Input if the order cannot run. Linear in the number of ops,
/// except that a limit on outstanding sends searches for paths between a wait and its receive.
[[nodiscard]] Result<LoweredSchedule> lowerAsTorch(const Schedule& order, const TorchLowering& options);

} // namespace bubblescope
