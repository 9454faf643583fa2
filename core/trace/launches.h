#pragma once

#include "core/trace/trace.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

/// Profilers connect a host call with the device work that it launched: both have the same correlation id, which is
/// unique within their process.

namespace bubblescope {

/// Categories of host calls: those of Kineto (the current ones for all accelerators, and those of 2021), of Paddle, and
/// of rocprofv3.
inline constexpr std::array<std::string_view, 13> kLaunchCategories{
    "cuda_runtime",        "cuda_driver",        "hip_runtime",    "mtia_runtime", "xpu_runtime",
    "xpu_driver",          "glow_runtime",       "CudaRuntime",    "Runtime",      "hip_api",
    "privateuse1_runtime", "privateuse1_driver", "hip_runtime_api"};

/// Correlation id of a call, or of the work that the call launched; empty if there is none.
[[nodiscard]] std::optional<std::int64_t> correlationOf(const Trace& trace, SliceId slice);

} // namespace bubblescope
