#pragma once

#include "core/base/descriptor.h"

#include <string>

namespace bubblescope::profiler {

/// The name of the signal that ended a process, such as "SIGKILL". `process` is its pidfd, if there is one. The process
/// may be another program's child; the system is asked while it is a zombie and, since Linux 6.15, also later. Empty if
/// the process exited by itself or is still running, or if the system does not report it.
[[nodiscard]] std::string signalThatEnded(int pid, const Descriptor& process);

} // namespace bubblescope::profiler
