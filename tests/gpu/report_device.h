#pragma once

#include "core/base/result.h"
#include "runtime/accelerator/accelerator.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// Device that a report describes. Each program links one definition of openReportDevice().
struct ReportDevice {
    std::string name;
    std::int64_t memory = 0;             ///< in bytes
    std::optional<double> peak_flops;    ///< see GpuInfo
    std::shared_ptr<Accelerator> plain;  ///< launches kernels individually
    std::shared_ptr<Accelerator> graphs; ///< launches the kernels of an op together
    std::vector<std::int64_t> products;  ///< numbers of rows of the square matrices to multiply
    /// Width of the models for measuring checked steps, and for measuring bubbles.
    /// Small enough that the kernels of all ranks
    /// can run concurrently.
    int checked_width = 1024;
    int bubble_width = 64;
    bool every_preset = true;           ///< otherwise only presets that train on a CPU
    std::shared_ptr<Accelerator> cudnn; ///< like `plain`, with attention by cuDNN; null if that is not possible
    std::string why_no_cudnn;
    double warm_seconds = 5; ///< until clocks and power have settled
};
[[nodiscard]] Result<ReportDevice> openReportDevice();

class Budget;
/// Compares attention by own kernels and by cuDNN.
void reportAttention(const ReportDevice& device, const Budget& budget);

} // namespace bubblescope::runtime
