// A report about the first GPU.

#include "runtime/backend/cuda/cuda_device.h"
#include "tests/gpu/report_device.h"

namespace bubblescope::runtime {

Result<ReportDevice> openReportDevice() {
    BUBBLESCOPE_ASSIGN(const GpuInfo info, gpuInfo(0));
    ReportDevice device;
    device.name = info.name;
    device.memory = info.memory;
    device.peak_flops = info.peak_flops;
    device.products = {2048, 8192};
    BUBBLESCOPE_ASSIGN(device.plain, openGpu(0, false, AttentionKernels::Own));
    BUBBLESCOPE_ASSIGN(device.graphs, openGpu(0, true));
    const Result<std::shared_ptr<Accelerator>> cudnn = openGpu(0, false, AttentionKernels::Cudnn);
    if (cudnn.ok()) {
        device.cudnn = cudnn.value();
    } else {
        device.why_no_cudnn = cudnn.error().text();
    }
    return device;
}

} // namespace bubblescope::runtime
