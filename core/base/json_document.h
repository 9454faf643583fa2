#pragma once

#include "core/base/result.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace bubblescope {

/// Parses a file that people write: schedules, costs, rules; never traces. Nesting beyond 64 levels, which no such file
/// has, is refused, since what works through a document later does so by recursion. Errors: Input, naming `where` and
/// the byte, with `shape` (what the file should look like) as the hint.
[[nodiscard]] Result<nlohmann::json> parseJsonDocument(std::string_view text, const std::string& where,
                                                       std::string_view shape);

} // namespace bubblescope
