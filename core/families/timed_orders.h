#pragma once

#include "core/families/registry.h"
#include "core/schedule/op.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace bubblescope {

// Orders generated for given times and a given memory; each is defined in the file of the same name.

/// The zero-bubble order for a spec's sizes and times, one chunk per rank. A rank holds at most `memory_limit`, in the
/// unit of the spec's sizes; it must have room for one forward. O(p·m).
[[nodiscard]] std::vector<std::vector<Op>> zbAutoOrder(const ScheduleSpec& spec, std::int64_t memory_limit);

/// The best order of ZB-V that greedy filling finds, within the same limit. Nothing if the warm-up does not fit.
/// O(p·m).
[[nodiscard]] std::optional<std::vector<std::vector<Op>>> zbVGreedyOrder(const ScheduleSpec& spec,
                                                                         std::int64_t memory_limit);

/// Paddle's order of ZB-V, for 2 or more chunks: of all ways to fill gaps, it takes the one that ends first. Nothing if
/// one of them does not fit into memory. `input_grad_peak` is the memory that an input gradient needs while it runs, in
/// the same unit.
[[nodiscard]] std::optional<std::vector<std::vector<Op>>>
zbVPaddleOrder(const ScheduleSpec& spec, std::int64_t memory_limit = std::numeric_limits<std::int64_t>::max(),
               std::int64_t input_grad_peak = 0);

} // namespace bubblescope
