#pragma once

#include "runtime/accelerator/kernels/all.h"

#include <cuda_runtime_api.h>

namespace bubblescope::runtime {

// Execution of the forms of runtime/accelerator/kernels/forms.h on a GPU. Launch errors are left for
// cudaGetLastError(). Compiled by nvcc too.

#define BUBBLESCOPE_LAUNCH(Kernel) void launchOnGpu(const Kernel& kernel, cudaStream_t stream);
BUBBLESCOPE_KERNELS(BUBBLESCOPE_LAUNCH)
#undef BUBBLESCOPE_LAUNCH

/// Loads the code of all kernels into the current context: loading at the first launch would wait for whatever runs on
/// the GPU then, such as a transfer whose peer has not come.
[[nodiscard]] cudaError_t loadKernels();

/// Writes the GPU's nanosecond timer.
void stampOnGpu(std::uint64_t* at, cudaStream_t stream);
/// Keeps one thread polling that timer until `length` ns after the time in `since`.
void holdOnGpu(const std::uint64_t* since, std::uint64_t length, cudaStream_t stream);

} // namespace bubblescope::runtime
