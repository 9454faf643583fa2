#pragma once

#include <string_view>

namespace bubblescope {

/// The name of an output that means standard output.
inline constexpr std::string_view kStandardOutput = "-";

/// The descriptor for an output named "-".
[[nodiscard]] int standardOutput();

/// Reserves standard output for such an output: anything else that the process prints goes to standard error from now
/// on. Call it once, before anything is printed and before there are threads.
void reserveStandardOutput();

} // namespace bubblescope
