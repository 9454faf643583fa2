#pragma once

#include "core/base/descriptor.h"

#include <string>

namespace bubblescope::profiler {

/// The name of the signal that ended a process, such as "SIGKILL". `process` is its pidfd, if there is one. The process
/// may be another program's child: asks the system while the process is a zombie and, from Linux 6.15 on, also later.
/// Empty if the process exited by itself, still runs, or if the system does not tell.
[[nodiscard]] std::string signalThatEnded(int pid, const Descriptor& process);

} // namespace bubblescope::profiler
