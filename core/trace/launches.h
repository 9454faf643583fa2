#pragma once

#include "core/trace/trace.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

/// How profilers say which call of the host started which work on a device: both carry a number that is unique within
/// their process.

namespace bubblescope {

/// Categories of a host's calls: Kineto's, today's for accelerators of every make and those of 2021, Paddle's, and
/// rocprofv3's.
inline constexpr std::array<std::string_view, 13> kLaunchCategories{
    "cuda_runtime",        "cuda_driver",        "hip_runtime",    "mtia_runtime", "xpu_runtime",
    "xpu_driver",          "glow_runtime",       "CudaRuntime",    "Runtime",      "hip_api",
    "privateuse1_runtime", "privateuse1_driver", "hip_runtime_api"};

/// The number of a call, or of the work that it started; nothing if there is none.
[[nodiscard]] std::optional<std::int64_t> correlationOf(const Trace& trace, SliceId slice);

} // namespace bubblescope
