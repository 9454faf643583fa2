#pragma once

#include <string_view>

namespace bubblescope {

/// What to do with a file that no reader here takes, for people: known formats say how they become one that is read.
/// Told by the file's beginning, and by its name where programs keep their formats to themselves.
[[nodiscard]] std::string_view wayOutFor(std::string_view name, std::string_view beginning);

} // namespace bubblescope
