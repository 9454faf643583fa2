#pragma once

#include "core/base/time.h"

#include <array>
#include <cstdint>

namespace bubblescope::profiler {

/// Time and stream of device work, or time of the call that started it.
struct DeviceWork {
    TimeNs start{0};
    TimeNs end{0};
    std::uint32_t device = 0;
    std::uint32_t context = 0;
    std::uint32_t stream = 0;
    std::uint32_t correlation = 0; ///< shared by a call and the work that it started
    std::uint32_t graph = 0;       ///< graph id of a kernel or launch; 0 = none
    std::int64_t bytes = -1;       ///< bytes of a copy or memset; -1 = none
    std::array<std::int32_t, 3> grid{};
    std::array<std::int32_t, 3> block{};
};

} // namespace bubblescope::profiler
