#pragma once

#include "runtime/comm/transport.h"

#include <cstddef>
#include <functional>
#include <span>

namespace bubblescope::runtime {

/// Calls `run` with the index of each of these ranks on a thread of its own, until all calls have returned. `run` must
/// not throw. If a thread cannot be started, the run fails for all ranks.
void runRankThreads(std::span<Transport* const> ranks, const std::function<void(std::size_t)>& run);

} // namespace bubblescope::runtime
