#pragma once

#include <string>
#include <string_view>

namespace bubblescope {

/// Text as a CSV cell (RFC 4180). Puts an apostrophe before text that a spreadsheet would run as a formula (starts with
/// =, +, -, @, a tab or a carriage return), because names in traces are untrusted.
[[nodiscard]] std::string csvCell(std::string_view text);

} // namespace bubblescope
