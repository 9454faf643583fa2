#pragma once

#include "runtime/accelerator/accelerator.h"

#include <memory>

namespace bubblescope::runtime {

/// The processor as an accelerator: work is done by the thread that asks for it, before the call returns, so there is
/// nothing to wait for, and its memory is the host's. One serves all ranks of a process. What it computes depends on
/// values and shapes alone.
[[nodiscard]] const std::shared_ptr<Accelerator>& cpuDevice();

} // namespace bubblescope::runtime
