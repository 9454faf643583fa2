#pragma once

#include "core/base/result.h"

#include <string>
#include <string_view>

namespace bubblescope {

/// True if a text is a schedule in PyTorch's CSV form, by the cells of its first line.
[[nodiscard]] bool looksLikeScheduleCsv(std::string_view text);

/// For a schedule given where a trace is expected: what it is and which commands accept it.
[[nodiscard]] Error scheduleError(const std::string& where);

} // namespace bubblescope
