#pragma once

#include "core/base/result.h"
#include "runtime/accelerator/accelerator.h"
#include "runtime/backend/cudnn/attention_kernels.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace bubblescope::runtime {

struct GpuInfo {
    std::string name;
    int capability = 0; ///< 90 for compute capability 9.0
    int processors = 0;
    std::int64_t memory = 0; ///< bytes
    /// Peak rate of dense bf16 products with float sums in operations per second, from the vendor's datasheet; nothing
    /// for GPUs that are not listed.
    std::optional<double> peak_flops;
};

/// The number of usable GPUs; 0 if CUDA finds none. This header includes no CUDA headers.
[[nodiscard]] int gpuCount();

/// Error: Run, with CUDA's message, if there is no such GPU.
[[nodiscard]] Result<GpuInfo> gpuInfo(int index);
/// If `graphs` is true, batches of work become CUDA graphs. Error: Run, also if these kernels cannot compute attention.
[[nodiscard]] Result<std::shared_ptr<Accelerator>> openGpu(int index, bool graphs = false,
                                                           AttentionKernels attention = AttentionKernels::Auto);

} // namespace bubblescope::runtime
