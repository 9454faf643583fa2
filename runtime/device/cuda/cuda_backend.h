#pragma once

#include "core/base/result.h"
#include "runtime/device/accelerator/gemm.h"
#include "runtime/device/backend.h"

#include <memory>

namespace bubblescope::runtime {

/// All ranks of this process on one GPU. Errors: Run, where there is none.
[[nodiscard]] Result<std::shared_ptr<Backend>> openCudaBackend(int gpu, Storage activations);

} // namespace bubblescope::runtime
