#pragma once

#include "runtime/accelerator/accelerator.h"

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace bubblescope::runtime {

/// Throws with CUDA's message.
inline void checkCuda(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    throw std::runtime_error(std::string("CUDA cannot ") + what + ": " + cudaGetErrorString(result));
}

/// The CUDA stream behind a stream of the CUDA device.
[[nodiscard]] cudaStream_t cudaStreamOf(Accelerator::Stream stream);

} // namespace bubblescope::runtime
