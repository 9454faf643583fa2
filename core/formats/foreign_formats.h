#pragma once

#include <string_view>

namespace bubblescope {

/// Advice for a file that no reader accepts: for known formats, how to convert it to a readable one. Classified by the
/// file's beginning, and by its name for proprietary formats.
[[nodiscard]] std::string_view wayOutFor(std::string_view name, std::string_view beginning);

} // namespace bubblescope
