#pragma once

#include "core/families/registry.h"
#include "core/schedule/op.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace bubblescope {

// Orders generated for given op times and limited memory. Each is documented in the .cpp file named after it.

/// The zero-bubble order for a spec's sizes and times, one chunk per rank. A rank holds at most `memory_limit`, in the
/// unit of the spec's sizes; the limit must allow one forward. O(p·m).
[[nodiscard]] std::vector<std::vector<Op>> zbAutoOrder(const ScheduleSpec& spec, std::int64_t memory_limit);

/// The best order of ZB-V that greedy filling finds under the same limit. Empty if the warm-up does not fit.
/// O(p·m).
[[nodiscard]] std::optional<std::vector<std::vector<Op>>> zbVGreedyOrder(const ScheduleSpec& spec,
                                                                         std::int64_t memory_limit);

/// Paddle's order of ZB-V, for 2 or more chunks: the shortest order among those that result from different ways to fill
/// gaps. Empty if one of these orders does not fit into memory. `input_grad_peak` is the memory used by a running input
/// gradient, in the same unit.
[[nodiscard]] std::optional<std::vector<std::vector<Op>>>
zbVPaddleOrder(const ScheduleSpec& spec, std::int64_t memory_limit = std::numeric_limits<std::int64_t>::max(),
               std::int64_t input_grad_peak = 0);

} // namespace bubblescope
