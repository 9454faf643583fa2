#pragma once

#include "core/base/result.h"
#include "core/schedule/action.h"

#include <cstdint>

namespace bubblescope {

/// The way in which Megatron-core posts transfers and waits for them.
enum class MegatronTransfers : std::uint8_t {
    Batched,         ///< `batch_p2p_comm`, its default: the transfers of a call are one group
    Separate,        ///< one after another, in the order of _p2p_ops
    Overlapped,      ///< `overlap_p2p_comm`: separate; in the steady phase it waits just before the op that needs them
    OverlappedFlush, ///< also in the warm-up and cool-down phases (`overlap_p2p_comm_warmup_flush`)
};

/// The actions of Megatron-core 0.16.1's 1F1B (forward_backward_pipelining_without_interleaving; waits for each call at
/// once with any options) or interleaved 1F1B (forward_backward_pipelining_with_interleaving). Errors: Usage for any
/// other order.
[[nodiscard]] Result<LoweredSchedule> lowerAsMegatron(const Schedule& order, MegatronTransfers transfers);

} // namespace bubblescope
