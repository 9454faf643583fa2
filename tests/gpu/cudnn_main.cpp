// The tests of this folder on an emulated device whose attention is computed by a stand-in for cuDNN.

#include "tests/gpu/test_device.h"
#include "tests/support/emulated_device.h"

#include <cstdlib>
#include <stdexcept>

namespace bubblescope::runtime::test {
namespace {

class LoadStandIn : public testing::Environment {
public:
    void SetUp() override { ::setenv("BUBBLESCOPE_CUDNN", BUBBLESCOPE_STAND_IN, 1); }
};

[[maybe_unused]] const auto* const load_stand_in = testing::AddGlobalTestEnvironment(new LoadStandIn);

} // namespace

bool timeIsMadeUp() {
    return true;
}

std::shared_ptr<Accelerator> testDevice(bool /*batches*/, TimeNs kernel) {
    static unsigned seed = 0;
    Result<AttentionChoice> choice = chooseAttention(AttentionKernels::Cudnn, 90);
    if (!choice.ok()) throw std::runtime_error(choice.error().text());
    auto device = std::make_shared<EmulatedDevice>(++seed);
    device->kernel_time = kernel;
    device->cudnn = choice.value().cudnn;
    return device;
}

} // namespace bubblescope::runtime::test
