// A report about the first GPU.

#include "runtime/backend/cuda/cuda_device.h"
#include "tests/gpu/report_device.h"

namespace bubblescope::runtime {

Result<ReportDevice> openReportDevice() {
    BUBBLESCOPE_ASSIGN(const GpuInfo info, gpuInfo(0));
    ReportDevice device{info.name, info.memory, info.peak_flops, nullptr, nullptr, {2048, 8192}};
    BUBBLESCOPE_ASSIGN(device.plain, openGpu(0));
    BUBBLESCOPE_ASSIGN(device.graphs, openGpu(0, true));
    return device;
}

} // namespace bubblescope::runtime
