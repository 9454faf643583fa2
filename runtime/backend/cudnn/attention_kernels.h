#pragma once

#include <cstdint>

namespace bubblescope::runtime {

/// Which kernels compute fused attention on a GPU.
enum class AttentionKernels : std::uint8_t { Auto, Own, Cudnn };
/// The meaning of Auto. Set this to the faster one once both have been measured on a GPU (tests/gpu/run-on-gpu).
constexpr AttentionKernels kAutoAttention = AttentionKernels::Own;

} // namespace bubblescope::runtime
