#pragma once

#include "core/base/result.h"
#include "core/schedule/action.h"

#include <optional>
#include <vector>

namespace bubblescope {

/// What PyTorch's pipeline runtime can be told, by its own names.
struct TorchLowering {
    bool defer_pp_recv = false; ///< each receive just before the op that needs it
    int max_active_stages = 3;  ///< whose weights a rank keeps
    /// Per rank, how many stages ahead it gathers weights; "auto": min(rank + 2, max_active_stages).
    enum class Lookahead { Full, Auto, Listed } lookahead = Lookahead::Full;
    std::vector<int> lookahead_list;
    std::optional<int> max_outstanding_sends;
    bool defer_reduce_grad_wait = false;
};

/// The actions that PyTorch 2.15 carries out for an order, as _PipelineScheduleRuntime._prepare_schedule_with_comms
/// makes them. Optimizer ops, which its runtime does not have, get no action.
///
/// Errors: Usage, where PyTorch refuses, naming the same action; for orders that PyTorch cannot hold: two pipelines in
/// opposite directions, split sequences. Input, where the order cannot run. Linear in ops, except that a limit on
/// outstanding sends searches paths between a wait and its receive.
[[nodiscard]] Result<LoweredSchedule> lowerAsTorch(const Schedule& order, const TorchLowering& options);

} // namespace bubblescope
