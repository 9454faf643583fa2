#pragma once

#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

namespace bubblescope::runtime {

/// One name for all processes of a machine between two of its starts, which is as far as CLOCK_MONOTONIC goes.
[[nodiscard]] inline std::string systemClockName() {
    std::string name;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> name;
    if (!name.empty()) return name;
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    return host.data();
}

} // namespace bubblescope::runtime
