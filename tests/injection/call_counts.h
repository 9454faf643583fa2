#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace bubblescope::injection {

/// Counters of fail_call.cpp, in a file that the observed processes map.
struct CallCounts {
    static constexpr std::size_t kPlaces = 1U << 15;

    std::atomic<std::uint64_t> calls;
    std::atomic<std::uint64_t> places;  ///< calls by innermost caller
    std::uint64_t first_calls[kPlaces]; ///< number of the first call from each caller
};

} // namespace bubblescope::injection
