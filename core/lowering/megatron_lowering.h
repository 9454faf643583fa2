#pragma once

#include "core/base/result.h"
#include "core/schedule/action.h"

#include <cstdint>

namespace bubblescope {

/// How Megatron-core posts transfers and waits for them.
enum class MegatronTransfers : std::uint8_t {
    Batched,         ///< `batch_p2p_comm`, the default: all transfers of a call form one group
    Separate,        ///< transfers are posted one after another, in the order of _p2p_ops
    Overlapped,      ///< `overlap_p2p_comm`: separate; the steady phase waits just before the op that needs a transfer
    OverlappedFlush, ///< like Overlapped, also in warm-up and cool-down (`overlap_p2p_comm_warmup_flush`)
};

/// Actions of Megatron-core 0.16.1 for 1F1B (forward_backward_pipelining_without_interleaving; waits for each call
/// immediately, whatever the options) or interleaved 1F1B (forward_backward_pipelining_with_interleaving). Errors:
/// Usage for any other order.
[[nodiscard]] Result<LoweredSchedule> lowerAsMegatron(const Schedule& order, MegatronTransfers transfers);

} // namespace bubblescope
