#pragma once

#include "core/schedule/action.h"

#include <vector>

namespace bubblescope {

/// True for 1F1B with one stage per rank.
[[nodiscard]] bool isOneFOneB(const Schedule& order);

/// The actions of a rank of 1F1B in Megatron-core and Paddle, which wait for each call at once.
[[nodiscard]] std::vector<Action> oneFOneBCalls(const Schedule& order, Rank rank, bool batched);

} // namespace bubblescope
