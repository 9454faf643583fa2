#pragma once

#include <string_view>

/// What the traces of recorded jobs say of themselves, in instants of their process: what the library that records them
/// writes and the reader must know.
namespace bubblescope::perfetto {

inline constexpr std::string_view kCaptureCategory = "capture";
inline constexpr std::string_view kCaptureBegins = "capture begins"; ///< one at the begin of each file
inline constexpr std::string_view kCaptureEnds = "capture ends"; ///< the last one, of a process that ended by itself
/// Arg of the first: what to add to the file's times for those of its host's wall clock, by which hosts are put
/// together.
inline constexpr std::string_view kCaptureOffset = "wall_clock_ahead_ns";

} // namespace bubblescope::perfetto
