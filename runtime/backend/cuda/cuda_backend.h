#pragma once

#include "core/base/result.h"
#include "runtime/accelerator/accelerator.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/cudnn/attention_kernels.h"

#include <memory>

namespace bubblescope::runtime {

/// The GPU for the process with this local rank on its host. A launcher may make only one GPU visible to each process.
[[nodiscard]] int gpuOfProcess(int number);

/// A backend that runs all ranks of this process on one GPU; NCCL, if built in, connects this GPU to the GPUs of other
/// processes. If `graphs` is true, the kernels of an op are launched as one CUDA graph. Error: Run if there is no
/// such GPU, or if these kernels cannot compute attention on it.
[[nodiscard]] Result<std::shared_ptr<Backend>> openCudaBackend(int gpu, Storage activations, bool graphs,
                                                               AttentionKernels attention = AttentionKernels::Auto);

} // namespace bubblescope::runtime
