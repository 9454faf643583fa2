#include "runtime/backend/cuda/cuda_backend.h"

#include "runtime/backend/backend.h"
#include "runtime/backend/cuda/cuda_device.h"
#ifdef BUBBLESCOPE_WITH_NCCL
#include "runtime/backend/cuda/nccl_peers.h"
#include "runtime/backend/nccl/connect_devices.h"
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

Result<std::shared_ptr<Backend>> openCudaBackend(int gpu, Storage activations, bool graphs,
                                                 AttentionKernels attention) {
    BUBBLESCOPE_ASSIGN(std::shared_ptr<Accelerator> device, openGpu(gpu, graphs, attention));
    try {
        return std::shared_ptr<Backend>(std::make_shared<Backend>("cuda", std::move(device), activations,
                                                                  std::make_shared<MonotonicClock>(), connector()));
    } catch (const std::exception& e) {
        return runError(e.what());
    }
}

} // namespace bubblescope::runtime
