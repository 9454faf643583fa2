#pragma once

#include "core/base/time.h"

#include <cstdint>
#include <string>

namespace bubblescope {

/// A process, its host, and the clock with which its times are recorded.
struct ProcessInfo {
    std::string host{};  ///< host name
    std::string clock{}; ///< identifies CLOCK_MONOTONIC of one boot of one machine: processes with equal values share a
                         ///< clock
    std::int64_t pid = 0;
    std::string pids{};    ///< the PID namespace of `pid`: differs between containers on one machine
    std::string program{}; ///< program name
    std::string device{};  ///< identifies the hardware across reboots, such as the UUID of a GPU; may be empty
};

/// Describes this process. Fields that the system does not report remain empty.
[[nodiscard]] ProcessInfo thisProcess();

/// CLOCK_MONOTONIC and CLOCK_REALTIME, read simultaneously.
struct ClockPair {
    TimeNs monotonic{0};
    TimeNs realtime{0};
};
[[nodiscard]] ClockPair readClocks();

} // namespace bubblescope
