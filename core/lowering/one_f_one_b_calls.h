#pragma once

#include "core/schedule/action.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// True for 1F1B with one stage per rank.
[[nodiscard]] bool isOneFOneB(const Schedule& order);

/// How a rank sends and receives between an F and a B of the steady phase.
enum class PairCalls : std::uint8_t {
    Batched,  ///< one call, a group
    Separate, ///< one call, one after another
    Single,   ///< a call each; the receive of an F comes before the send of the B
};

/// The actions of a rank of 1F1B in Megatron-core and Paddle, which wait for each call at once.
[[nodiscard]] std::vector<Action> oneFOneBCalls(const Schedule& order, Rank rank, PairCalls pairs);

} // namespace bubblescope
