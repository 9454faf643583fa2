#pragma once

#include "runtime/backend/accelerator/accelerator.h"

#include <cuda_runtime_api.h>

namespace bubblescope::runtime {

/// What a stream of the CUDA device is to CUDA.
[[nodiscard]] cudaStream_t cudaStreamOf(Accelerator::Stream stream);

} // namespace bubblescope::runtime
