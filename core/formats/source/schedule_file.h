#pragma once

#include "core/base/result.h"

#include <string>
#include <string_view>

namespace bubblescope {

/// A schedule in PyTorch's CSV form, told by the cells of its first line.
[[nodiscard]] bool looksLikeScheduleCsv(std::string_view text);

/// Says of a schedule, which people give where a trace is wanted, what it is and what it is good for.
[[nodiscard]] Error scheduleError(const std::string& where);

} // namespace bubblescope
