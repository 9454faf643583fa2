#pragma once

#include "core/schedule/families/registry.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// The zero-bubble order for a spec's sizes and times, one chunk a rank. A rank holds at most
/// `memory_limit`, in the unit of the spec's sizes; it must hold one forward. Linear in p·m.
[[nodiscard]] std::vector<std::vector<Op>> zbAutoOrder(const ScheduleSpec& spec, std::int64_t memory_limit);

} // namespace bubblescope
