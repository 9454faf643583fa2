#include "runtime/backend/cuda/cuda_backend.h"

#include "runtime/backend/cuda/cuda_device.h"
#include "runtime/backend/queued/accelerator_backend.h"
#ifdef BUBBLESCOPE_WITH_NCCL
#include "runtime/backend/cuda/nccl_peers.h"
#include "runtime/comm/nccl/connect_devices.h"
#endif

#include <exception>
#include <utility>

namespace bubblescope::runtime {
namespace {

DeviceConnector connector() {
#ifdef BUBBLESCOPE_WITH_NCCL
    return connectDevices(makeNcclPeers());
#else
    return {};
#endif
}

} // namespace

int gpuOfProcess(int number) {
    const int gpus = gpuCount();
    return gpus > 0 ? number % gpus : number;
}

Result<std::shared_ptr<Backend>> openCudaBackend(int gpu, Storage activations, bool graphs) {
    BUBBLESCOPE_ASSIGN(std::shared_ptr<Accelerator> device, openGpu(gpu, graphs));
    try {
        return std::shared_ptr<Backend>(std::make_shared<AcceleratorBackend>(
            "cuda", std::move(device), activations, std::make_shared<MonotonicClock>(), connector()));
    } catch (const std::exception& e) {
        return runError(e.what());
    }
}

} // namespace bubblescope::runtime
