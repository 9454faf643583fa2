#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>

namespace bubblescope {

/// Number of threads that can run at once, at least 1. Cached, because the system reads a file each time.
inline std::size_t coreCount() {
    static const std::size_t count = std::max(1U, std::thread::hardware_concurrency());
    return count;
}

} // namespace bubblescope
