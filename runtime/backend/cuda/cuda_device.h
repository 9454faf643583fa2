#pragma once

#include "core/base/result.h"
#include "runtime/accelerator/accelerator.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace bubblescope::runtime {

struct GpuInfo {
    std::string name;
    int capability = 0; ///< 90 for 9.0
    int processors = 0;
    std::int64_t memory = 0; ///< bytes
    /// Dense bf16 products with float sums, operations a second, by the vendor's datasheet; nothing for others.
    std::optional<double> peak_flops;
};

/// How many GPUs can be used here; 0 where CUDA finds none. This header asks for no CUDA headers.
[[nodiscard]] int gpuCount();

/// Errors: Run, with CUDA's own words, where there is no such GPU.
[[nodiscard]] Result<GpuInfo> gpuInfo(int index);
/// `graphs`: batches of work become CUDA graphs.
[[nodiscard]] Result<std::shared_ptr<Accelerator>> openGpu(int index, bool graphs = false);

} // namespace bubblescope::runtime
