#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>

namespace bubblescope {

/// Number of threads that can run simultaneously, at least 1. Cached, because each query reads a file.
inline std::size_t coreCount() {
    static const std::size_t count = std::max(1U, std::thread::hardware_concurrency());
    return count;
}

} // namespace bubblescope
