#pragma once

#include "core/schedule/action.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// True for 1F1B with one stage per rank.
[[nodiscard]] bool isOneFOneB(const Schedule& order);

/// The calls a rank uses to send and receive between an F and a B of the steady phase.
enum class PairCalls : std::uint8_t {
    Batched,  ///< one call, whose transfers form a group
    Separate, ///< one call, whose transfers are posted one after another
    Single,   ///< one call per transfer; the receive of an F comes before the send of the B
};

/// Actions of a 1F1B rank in Megatron-core and Paddle, where each call is directly followed by waits.
[[nodiscard]] std::vector<Action> oneFOneBCalls(const Schedule& order, Rank rank, PairCalls pairs);

} // namespace bubblescope
