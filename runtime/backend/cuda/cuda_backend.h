#pragma once

#include "core/base/result.h"
#include "runtime/accelerator/gemm.h"
#include "runtime/backend/backend.h"

#include <memory>

namespace bubblescope::runtime {

/// The GPU of a process that has this number among those of its host. A launcher may let each see only its own.
[[nodiscard]] int gpuOfProcess(int number);

/// All ranks of this process on one GPU, which NCCL can join with those of other processes, if it is built in.
/// `graphs`: the kernels of an op are launched as one CUDA graph. Errors: Run, where there is none.
[[nodiscard]] Result<std::shared_ptr<Backend>> openCudaBackend(int gpu, Storage activations, bool graphs);

} // namespace bubblescope::runtime
