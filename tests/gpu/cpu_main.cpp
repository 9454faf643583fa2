// The tests of this folder on the processor, which runs of the CPU backend compute on.

#include "runtime/backend/cpu/cpu_backend.h"
#include "tests/gpu/test_device.h"

namespace bubblescope::runtime::test {

bool timeIsMadeUp() {
    return false;
}

std::shared_ptr<Accelerator> testDevice(bool /*batches*/, TimeNs /*kernel*/) {
    return cpuDevice();
}

} // namespace bubblescope::runtime::test
