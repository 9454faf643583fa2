#pragma once

#include "core/base/time.h"
#include "core/schedule/op.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bubblescope::profiler {

/// What a rank launches its work for.
struct LaunchingOp {
    int step = 0;
    std::vector<Op> ops; ///< one, or both of a pair
};

/// What a device did for a rank, or a call of the rank that started it, with the categories and args of PyTorch's
/// profiler. Texts are the caller's.
struct DeviceSlice {
    TimeNs start{0}; ///< CLOCK_MONOTONIC
    TimeNs end{0};
    std::string_view category; ///< "kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime" or "cuda_driver"
    std::string_view name;
    std::string_view row;  ///< the track's name
    bool on_device = true; ///< else it is a call, which has a correlation alone
    std::uint32_t device = 0;
    std::uint32_t context = 0;
    std::uint32_t stream = 0;
    std::uint32_t correlation = 0; ///< of a call and what it started
    std::uint32_t graph = 0;       ///< 0 = none
    std::int64_t bytes = -1;       ///< of copies and sets; -1 = none
    std::array<std::int32_t, 3> grid{};
    std::array<std::int32_t, 3> block{};
    const LaunchingOp* op = nullptr; ///< null outside of ops
};

} // namespace bubblescope::profiler
