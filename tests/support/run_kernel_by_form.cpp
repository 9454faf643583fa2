// Kernels on the host by their forms alone, sum for sum in the order of a GPU.

#include "tests/support/attention_by_rows.h"
#include "tests/support/gpu_order.h"
#include "tests/support/run_kernel.h"

namespace bubblescope::runtime::test {

#define BUBBLESCOPE_RUN(Kernel)                                                             \
    void runKernel(const Kernel& kernel, const std::map<void*, std::int64_t>& /*memory*/) { \
        runInGpuOrder(kernel, Kernel::Form{});                                              \
    }
BUBBLESCOPE_KERNELS(BUBBLESCOPE_RUN)
#undef BUBBLESCOPE_RUN

void runAttention(const FusedAttention& attention, const std::map<void*, std::int64_t>& /*memory*/) {
    attendByRows(attention);
}
void runQueriesGradient(const FusedAttentionGradient& attention, const std::map<void*, std::int64_t>& /*memory*/) {
    queriesGradientByRows(attention);
}
void runKeysGradient(const FusedAttentionGradient& attention, const std::map<void*, std::int64_t>& /*memory*/) {
    keysGradientByRows(attention);
}

} // namespace bubblescope::runtime::test
