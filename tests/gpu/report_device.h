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
    bool every_preset = true; ///< otherwise only presets that train on a CPU
};
[[nodiscard]] Result<ReportDevice> openReportDevice();

} // namespace bubblescope::runtime
