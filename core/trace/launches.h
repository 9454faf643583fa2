#pragma once

#include "core/trace/trace.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

/// Profilers link a host call to the device work that it launched: both carry a correlation id, unique within their
/// process.

namespace bubblescope {

/// Categories of host calls: Kineto's (the current ones for any accelerator, and those of 2021), Paddle's, and
/// rocprofv3's.
inline constexpr std::array<std::string_view, 13> kLaunchCategories{
    "cuda_runtime",        "cuda_driver",        "hip_runtime",    "mtia_runtime", "xpu_runtime",
    "xpu_driver",          "glow_runtime",       "CudaRuntime",    "Runtime",      "hip_api",
    "privateuse1_runtime", "privateuse1_driver", "hip_runtime_api"};

/// The correlation id of a call, or of the work that it launched; nothing if there is none.
[[nodiscard]] std::optional<std::int64_t> correlationOf(const Trace& trace, SliceId slice);

} // namespace bubblescope
