#pragma once

#include "runtime/accelerator/kernels/attention.h"

#include <cuda_runtime_api.h>

namespace bubblescope::runtime {

// Fused attention on a GPU of compute capability 8.0 or newer: one launch forward, two launches backward, whatever the
// number of heads and sequences. Launch errors are left for cudaGetLastError(). Compiled by nvcc too.

/// The least compute capability whose processors multiply 16-bit numbers with the exponent of a float.
constexpr int kFusedCapability = 80;

void attendOnGpu(const FusedAttention& attention, cudaStream_t stream);
/// Also fills `along`, which the other gradients need.
void queriesGradientOnGpu(const FusedAttentionGradient& attention, cudaStream_t stream);
void keysGradientOnGpu(const FusedAttentionGradient& attention, cudaStream_t stream);

/// Loads the code, as loadKernels() does.
[[nodiscard]] cudaError_t loadAttention();

} // namespace bubblescope::runtime
