#pragma once

#include <string_view>

namespace bubblescope {

/// The output name that stands for standard output.
inline constexpr std::string_view kStandardOutput = "-";

/// The file descriptor for an output named "-".
[[nodiscard]] int standardOutput();

/// Reserves standard output for the output named "-". Anything else that the process prints is redirected to standard
/// error. Call this function once, before anything is printed and before threads are started.
void reserveStandardOutput();

} // namespace bubblescope
