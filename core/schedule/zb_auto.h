#pragma once

#include "core/schedule/registry.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// The zero-bubble order for a spec's sizes and times, one chunk a rank. A rank holds at most
/// `memory_halves` halves of an activation: a forward takes two, its input gradient frees one, its weight
/// gradient the other. At least 2. Linear in p·m.
[[nodiscard]] std::vector<std::vector<Op>> zbAutoOrder(const ScheduleSpec& spec, std::int64_t memory_halves);

} // namespace bubblescope
