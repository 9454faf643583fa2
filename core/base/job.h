#pragma once

#include <atomic>
#include <cstdint>
#include <stop_token>

namespace bubblescope {

/// What a long core function shares with whoever started it: it reads `stop` and raises the counters.
/// One writer (the job), any number of readers. A default-constructed control never stops.
struct JobControl {
    std::stop_token stop;
    std::atomic<std::uint64_t> done{0};  ///< units of work finished (bytes, for loads)
    std::atomic<std::uint64_t> total{0}; ///< 0 while unknown

    [[nodiscard]] bool stopRequested() const { return stop.stop_requested(); }
};

} // namespace bubblescope
