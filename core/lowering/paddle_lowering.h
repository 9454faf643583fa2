#pragma once

#include "core/base/result.h"
#include "core/schedule/action.h"

namespace bubblescope {

/// The actions of Paddle 3.3.1's dynamic 1F1B (PipelineParallel) or interleaved 1F1B (PipelineParallelWithInterleave,
/// without best_unbalanced_scheduler). 1F1B has a call per transfer, so that shapes may change. By default, the
/// transfers of a call are one group on the compute stream. `overlapped`: `overlap_p2p_comm`, which posts them one
/// after another and, in interleaved 1F1B, waits just before the next op of the same kind. Errors: Usage for any other
/// order.
[[nodiscard]] Result<LoweredSchedule> lowerAsPaddle(const Schedule& order, bool overlapped);

} // namespace bubblescope
