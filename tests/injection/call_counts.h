#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace bubblescope::injection {

/// The counts of fail_call.cpp, in a file that the counted processes map.
struct CallCounts {
    static constexpr std::size_t kPlaces = 1U << 15;

    std::atomic<std::uint64_t> calls;
    std::atomic<std::uint64_t> places;  ///< that call, by their innermost callers
    std::uint64_t first_calls[kPlaces]; ///< the number of the first call from each
};

} // namespace bubblescope::injection
