#pragma once

#include "core/base/result.h"
#include "core/schedule/action.h"

#include <cstdint>

namespace bubblescope {

/// The way in which Megatron-core posts the transfers with one neighbour between two ops.
enum class MegatronTransfers : std::uint8_t {
    Batched,  ///< `batch_p2p_comm`, Megatron-core's default: one call, here a group
    Separate, ///< one after another, in the order of _p2p_ops
};

/// The actions of Megatron-core's non-interleaved 1F1B (forward_backward_pipelining_without_interleaving and
/// p2p_communication.py), which waits for each call at once. Errors: Usage for any other order.
[[nodiscard]] Result<LoweredSchedule> lowerAsMegatron(const Schedule& order, MegatronTransfers transfers);

} // namespace bubblescope
