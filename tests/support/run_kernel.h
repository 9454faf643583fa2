#pragma once

#include "runtime/accelerator/kernels/all.h"

#include <cstdint>
#include <map>

namespace bubblescope::runtime::test {

/// How the emulated device runs a kernel; a test program links one of the definitions. `memory` is all of the device's:
/// sizes in bytes by address.
#define BUBBLESCOPE_RUN(Kernel) void runKernel(const Kernel& kernel, const std::map<void*, std::int64_t>& memory);
BUBBLESCOPE_KERNELS(BUBBLESCOPE_RUN)
#undef BUBBLESCOPE_RUN

} // namespace bubblescope::runtime::test
