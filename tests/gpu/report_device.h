#pragma once

#include "core/base/result.h"
#include "runtime/accelerator/accelerator.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// The device that a report is about. Each program links one definition of openReportDevice().
struct ReportDevice {
    std::string name;
    std::int64_t memory = 0;             ///< bytes
    std::optional<double> peak_flops;    ///< see GpuInfo
    std::shared_ptr<Accelerator> plain;  ///< launches kernels one by one
    std::shared_ptr<Accelerator> graphs; ///< launches those of an op together
    std::vector<std::int64_t> products;  ///< rows of the square matrices to be multiplied
    /// Sizes of the model whose checked steps are measured, and of the model whose bubbles are measured: small enough
    /// for the kernels of
    /// all ranks to run side by side.
    int checked_width = 1024;
    int bubble_width = 64;
    bool every_preset = true; ///< else only those that train on a CPU
};
[[nodiscard]] Result<ReportDevice> openReportDevice();

} // namespace bubblescope::runtime
