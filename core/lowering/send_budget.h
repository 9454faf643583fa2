#pragma once

#include "core/base/result.h"
#include "core/schedule/action.h"

namespace bubblescope {

/// Moves waits for sends forward so that no rank has more than `limit` sends outstanding, as PyTorch's
/// _add_wait_send_budget does. Before a send that would exceed the limit, the rank waits for the oldest send whose
/// receive is certainly posted by then, otherwise for the oldest one for which waiting closes no cycle. Every send must
/// have one wait and one receive. Errors: Usage, naming the send before which there is no such wait; Input if the
/// actions already form a cycle.
[[nodiscard]] Status limitOutstandingSends(LoweredSchedule& lowered, int limit);

} // namespace bubblescope
