// The tests of this folder on an emulated device: what can be checked without a GPU.

#include "tests/gpu/test_device.h"
#include "tests/support/emulated_device.h"

#include <stdexcept>

namespace bubblescope::runtime::test {

bool timeIsMadeUp() {
    return true;
}

std::shared_ptr<Accelerator> testDevice(bool /*batches*/, TimeNs kernel) {
    static unsigned seed = 0;
    Result<AttentionChoice> attention = chooseAttention(testAttention(), 90);
    if (!attention.ok()) throw std::runtime_error(attention.error().text());
    auto device = std::make_shared<EmulatedDevice>(++seed);
    device->kernel_time = kernel;
    device->cudnn = attention.value().cudnn;
    return device;
}

} // namespace bubblescope::runtime::test
