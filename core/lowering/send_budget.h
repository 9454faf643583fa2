#pragma once

#include "core/base/result.h"
#include "core/schedule/action.h"

namespace bubblescope {

/// Moves waits for sends forward so that no rank has more than `limit` sends outstanding, as PyTorch's
/// _add_wait_send_budget does: before a send that would exceed it, the rank waits for the oldest send whose receive is
/// posted by then in any case, else for the oldest one for which waiting closes no cycle. Every send has one wait, and
/// one receive. Errors: Usage, naming the send before which there is no such wait; Input, where the actions form a
/// cycle already.
[[nodiscard]] Status limitOutstandingSends(LoweredSchedule& lowered, int limit);

} // namespace bubblescope
