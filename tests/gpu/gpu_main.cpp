// The tests of this folder on the first GPU; all of them skip where there is none.

#include "runtime/backend/cuda/cuda_device.h"
#include "tests/gpu/test_device.h"

#include <iostream>
#include <stdexcept>

namespace bubblescope::runtime::test {
namespace {

class NeedsGpu : public testing::Environment {
public:
    void SetUp() override {
        if (gpuCount() == 0) GTEST_SKIP() << "no GPU here";
        const Result<GpuInfo> info = gpuInfo(0);
        ASSERT_TRUE(info.ok()) << info.error().text();
        const GpuInfo& gpu = info.value();
        std::cout << "GPU: " << gpu.name << ", compute capability " << gpu.capability / 10 << '.' << gpu.capability % 10
                  << ", " << gpu.processors << " processors, " << (gpu.memory >> 20) << " MiB\n";
    }
};

[[maybe_unused]] const auto* const needs_gpu = testing::AddGlobalTestEnvironment(new NeedsGpu);

} // namespace

bool timeIsMadeUp() {
    return false;
}

std::shared_ptr<Accelerator> testDevice(bool batches, TimeNs /*kernel*/) {
    // Never destroyed: CUDA is unloaded before the program's last destructors run.
    static const auto* const plain = new Result<std::shared_ptr<Accelerator>>(openGpu(0, false, testAttention()));
    static const auto* const batching = new Result<std::shared_ptr<Accelerator>>(openGpu(0, true, testAttention()));
    const auto* const gpu = batches ? batching : plain;
    if (!gpu->ok()) throw std::runtime_error(gpu->error().text());
    return gpu->value();
}

} // namespace bubblescope::runtime::test
