// Kernels as the GPU's code runs them, on the host. Every launch is made several times, with threads that take turns in
// different orders, and each time must leave the bits in memory that the kernel's form leaves.

#include "runtime/backend/cuda/kernels.h"
#include "tests/support/cuda_shim/kernel_log.h"
#include "tests/support/gpu_order.h"
#include "tests/support/run_kernel.h"

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

using DeviceMemoryMap = std::map<void*, std::int64_t>;

class MemoryImage {
public:
    explicit MemoryImage(const DeviceMemoryMap& memory) : memory_(memory) {
        for (const auto& [data, bytes] : memory_) {
            const auto* const begin = static_cast<const unsigned char*>(data);
            bytes_.insert(bytes_.end(), begin, begin + bytes);
        }
    }
    void restore() const {
        std::size_t at = 0;
        for (const auto& [data, bytes] : memory_) {
            std::memcpy(data, bytes_.data() + at, static_cast<std::size_t>(bytes));
            at += static_cast<std::size_t>(bytes);
        }
    }
    [[nodiscard]] bool operator==(const MemoryImage& other) const { return bytes_ == other.bytes_; }

private:
    const DeviceMemoryMap& memory_;
    std::vector<unsigned char> bytes_;
};

template <class Kernel>
void runInShim(const Kernel& kernel, const char* name, const DeviceMemoryMap& memory) {
    const MemoryImage before(memory);
    runInGpuOrder(kernel, typename Kernel::Form{});
    const MemoryImage expected(memory);
    cuda_shim::Options options;
    for (const auto& [data, bytes] : memory)
        options.memory.push_back({data, static_cast<std::size_t>(bytes)});
    KernelLog& log = KernelLog::get();
    for (const auto turns : {cuda_shim::Turns::Ascending, cuda_shim::Turns::Descending, cuda_shim::Turns::Shuffled}) {
        before.restore();
        options.turns = turns;
        options.seed = static_cast<unsigned>(log.launches());
        cuda_shim::use(options);
        launchOnGpu(kernel, nullptr);
        const bool equal = MemoryImage(memory) == expected;
        log.note(name, cuda_shim::lastShape(), cuda_shim::takeFaults(), equal);
    }
}

} // namespace

#define BUBBLESCOPE_RUN(Kernel)                                                         \
    void runKernel(const Kernel& kernel, const std::map<void*, std::int64_t>& memory) { \
        runInShim(kernel, #Kernel, memory);                                             \
    }
BUBBLESCOPE_KERNELS(BUBBLESCOPE_RUN)
#undef BUBBLESCOPE_RUN

} // namespace bubblescope::runtime::test
