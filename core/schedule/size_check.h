#pragma once

#include "core/base/result.h"
#include "core/schedule/schedule.h"

#include <string>

namespace bubblescope {

/// Of a schedule from a file, whose ops name micro-batches and chunks as they like: what is missing is for validate()
/// to list, but not hundreds of thousands because a number is mistyped. `slices` are those of a sequence. Errors:
/// Input.
[[nodiscard]] Status checkSizes(const Schedule& schedule, int slices, const std::string& where);

} // namespace bubblescope
