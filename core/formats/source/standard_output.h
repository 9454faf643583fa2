#pragma once

#include <string_view>

namespace bubblescope {

/// The name of an output that is standard output.
inline constexpr std::string_view kStandardOutput = "-";

/// The descriptor to which an output named "-" is written.
[[nodiscard]] int standardOutput();

/// Reserves standard output for such an output: whatever else the process prints goes to standard error from now on.
/// Call once, before anything was printed and before there are threads.
void reserveStandardOutput();

} // namespace bubblescope
