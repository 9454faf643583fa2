#pragma once

#include "runtime/accelerator/accelerator.h"

#include <memory>

namespace bubblescope::runtime {

/// The CPU as an accelerator. The calling thread does the work before the call returns, so there is nothing to wait
/// for; its memory is host memory. One object serves all ranks of a process. Results depend on values and shapes alone.
[[nodiscard]] const std::shared_ptr<Accelerator>& cpuDevice();

} // namespace bubblescope::runtime
