#include "runtime/device/cuda/cuda_backend.h"

#include "runtime/device/accelerator/accelerator_backend.h"
#include "runtime/device/cuda/cuda_device.h"

#include <exception>
#include <utility>

namespace bubblescope::runtime {

Result<std::shared_ptr<Backend>> openCudaBackend(int gpu, Storage activations) {
    BUBBLESCOPE_ASSIGN(std::shared_ptr<Accelerator> device, openGpu(gpu));
    try {
        return std::shared_ptr<Backend>(std::make_shared<AcceleratorBackend>("cuda", std::move(device), activations,
                                                                             std::make_shared<MonotonicClock>()));
    } catch (const std::exception& e) {
        return runError(e.what());
    }
}

} // namespace bubblescope::runtime
