#pragma once

#include "runtime/accelerator/kernels/all.h"
#include "runtime/accelerator/kernels/attention.h"

#include <cuda_runtime_api.h>

namespace bubblescope::runtime {

// Runs the forms in runtime/accelerator/kernels/forms.h on a GPU. Launch errors are left for cudaGetLastError(). Also
// compiled by nvcc.

#define BUBBLESCOPE_LAUNCH(Kernel) void launchOnGpu(const Kernel& kernel, cudaStream_t stream);
BUBBLESCOPE_KERNELS(BUBBLESCOPE_LAUNCH)
#undef BUBBLESCOPE_LAUNCH

/// Loads the code of all kernels into the current context. Loading at the first launch would wait for the work that is
/// running on the GPU, such as a transfer whose peer has not arrived.
[[nodiscard]] cudaError_t loadKernels();

/// Writes the value of the GPU's nanosecond timer.
void stampOnGpu(std::uint64_t* at, cudaStream_t stream);
/// Keeps one GPU thread polling the timer until `length` ns after the time in `since`.
void holdOnGpu(const std::uint64_t* since, std::uint64_t length, cudaStream_t stream);

// Fused attention on a GPU of compute capability 8.0 or newer: one launch for the forward pass and two for the backward
// pass, regardless of the number of heads and sequences.

/// The minimum compute capability with instructions that multiply bf16 numbers.
constexpr int kFusedCapability = 80;

void attendOnGpu(const FusedAttention& attention, cudaStream_t stream);
/// Also fills `along`, which the gradients of keys and values need.
void queriesGradientOnGpu(const FusedAttentionGradient& attention, cudaStream_t stream);
void keysGradientOnGpu(const FusedAttentionGradient& attention, cudaStream_t stream);

/// Loads the code of fused attention, like loadKernels().
[[nodiscard]] cudaError_t loadAttention();

} // namespace bubblescope::runtime
