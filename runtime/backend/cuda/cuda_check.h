#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace bubblescope::runtime {

/// Throws with CUDA's own words.
inline void checkCuda(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    throw std::runtime_error(std::string("CUDA cannot ") + what + ": " + cudaGetErrorString(result));
}

} // namespace bubblescope::runtime
