#pragma once

#include "core/base/time.h"

#include <filesystem>
#include <string>

namespace bubblescope::profiler {

/// How far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC on a host, by which traces of several hosts are put together. All
/// processes that record into `dir` and share a clock use one number, whatever each has `measured`, so that a wall
/// clock that is set between their starts does not move them apart: the first one's, kept in a file of `dir`.
[[nodiscard]] TimeNs agreedOffset(const std::filesystem::path& dir, const std::string& clock, TimeNs measured);

} // namespace bubblescope::profiler
