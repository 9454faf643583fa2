// The tests of this folder on an emulated device: what can be checked without a GPU.

#include "tests/gpu/test_device.h"
#include "tests/support/emulated_device.h"

namespace bubblescope::runtime::test {

bool timeIsMadeUp() {
    return true;
}

std::shared_ptr<Accelerator> testDevice(bool /*batches*/, TimeNs kernel) {
    static unsigned seed = 0;
    auto device = std::make_shared<EmulatedDevice>(++seed);
    device->kernel_time = kernel;
    return device;
}

} // namespace bubblescope::runtime::test
