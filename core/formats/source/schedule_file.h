#pragma once

#include "core/base/result.h"

#include <string>
#include <string_view>

namespace bubblescope {

/// True if the text is a schedule in PyTorch's CSV format, judging by the cells in its first line.
[[nodiscard]] bool looksLikeScheduleCsv(std::string_view text);

/// The error for a schedule passed instead of a trace. Explains what the file is and which commands accept it.
[[nodiscard]] Error scheduleError(const std::string& where);

} // namespace bubblescope
