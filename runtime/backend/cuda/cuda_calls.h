#pragma once

#include "runtime/accelerator/accelerator.h"

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace bubblescope::runtime {

/// Throws with CUDA's own words.
inline void checkCuda(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    throw std::runtime_error(std::string("CUDA cannot ") + what + ": " + cudaGetErrorString(result));
}

/// What a stream of the CUDA device is to CUDA.
[[nodiscard]] cudaStream_t cudaStreamOf(Accelerator::Stream stream);

} // namespace bubblescope::runtime
