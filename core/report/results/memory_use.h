#pragma once

#include "core/analysis/memory_use.h"
#include "core/report/document.h"

namespace bubblescope::report {

/// The recorded memory of ranks, and what a forward keeps; an empty section if nothing was recorded. For programs
/// "memory".
[[nodiscard]] Section memoryUseSection(const MemoryUse& use, Reader reader);

} // namespace bubblescope::report
