#pragma once

#include "core/base/result.h"
#include "core/schedule/action.h"

namespace bubblescope {

/// Actions of Paddle 3.3.1 for dynamic 1F1B (PipelineParallel) or interleaved 1F1B (PipelineParallelWithInterleave
/// without best_unbalanced_scheduler). In 1F1B, each transfer has its own call, so that shapes may change. By default,
/// the transfers of a call are one group on the compute stream. With `overlapped` (`overlap_p2p_comm`), transfers are
/// posted one after another, and interleaved 1F1B waits just before the next op of the same kind. Errors: Usage for any
/// other order.
[[nodiscard]] Result<LoweredSchedule> lowerAsPaddle(const Schedule& order, bool overlapped);

} // namespace bubblescope
