#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>

namespace bubblescope {

/// How many threads run at once, at least one. Known from the first call on: the system reads it from a file each time.
inline std::size_t coreCount() {
    static const std::size_t count = std::max(1U, std::thread::hardware_concurrency());
    return count;
}

} // namespace bubblescope
