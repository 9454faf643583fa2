#pragma once

#include "core/base/time.h"

#include <cstdint>
#include <string>

namespace bubblescope {

/// A process, the host that it runs on, and the clock that its recorded times count on.
struct ProcessInfo {
    std::string host{};  ///< name
    std::string clock{}; ///< CLOCK_MONOTONIC of a machine from one boot to the next: equal names, equal clocks
    std::int64_t pid = 0;
    std::string pids{};    ///< the PID namespace of `pid`: containers of one machine have their own
    std::string program{}; ///< name
    std::string device{};  ///< identifies the hardware across reboots, such as a GPU's UUID; may be empty
};

/// This process. What the system does not tell stays empty.
[[nodiscard]] ProcessInfo thisProcess();

/// CLOCK_MONOTONIC and CLOCK_REALTIME, read at one moment.
struct ClockPair {
    TimeNs monotonic{0};
    TimeNs realtime{0};
};
[[nodiscard]] ClockPair readClocks();

} // namespace bubblescope
