#pragma once

#include <string>
#include <string_view>

namespace bubblescope {

/// Text as a cell of CSV (RFC 4180). Text that a spreadsheet would take for a formula (it begins with =, +, -, @, a tab
/// or a carriage return) gets an apostrophe in front: names in traces come from whoever wrote them.
[[nodiscard]] std::string csvCell(std::string_view text);

} // namespace bubblescope
