#pragma once

#include "runtime/accelerator/kernels/all.h"
#include "runtime/accelerator/kernels/attention.h"

#include <cstdint>
#include <map>

namespace bubblescope::runtime::test {

/// Runs a kernel on the emulated device; each test program links one definition. `memory` describes all memory of the
/// device: sizes in bytes by address.
#define BUBBLESCOPE_RUN(Kernel) void runKernel(const Kernel& kernel, const std::map<void*, std::int64_t>& memory);
BUBBLESCOPE_KERNELS(BUBBLESCOPE_RUN)
#undef BUBBLESCOPE_RUN

void runAttention(const FusedAttention& attention, const std::map<void*, std::int64_t>& memory);
void runQueriesGradient(const FusedAttentionGradient& attention, const std::map<void*, std::int64_t>& memory);
void runKeysGradient(const FusedAttentionGradient& attention, const std::map<void*, std::int64_t>& memory);

} // namespace bubblescope::runtime::test
