#pragma once

#include "core/base/time.h"

#include <filesystem>
#include <string>

namespace bubblescope::profiler {

/// How far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC on a host, which relates the traces of several hosts. All
/// processes that record into `dir` and share a clock use one number, that of the first process, which is kept in a
/// file of `dir`. So a wall clock that is set between their starts does not move their traces apart. `measured` is this
/// process's own measurement.
[[nodiscard]] TimeNs agreedOffset(const std::filesystem::path& dir, const std::string& clock, TimeNs measured);

} // namespace bubblescope::profiler
