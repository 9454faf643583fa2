#pragma once

#include "core/analysis/memory_use.h"
#include "core/report/document.h"

namespace bubblescope::report {

/// Memory recorded on ranks, and the memory that each forward keeps; an empty section if no memory was recorded. For
/// programs, the section is "memory".
[[nodiscard]] Section memoryUseSection(const MemoryUse& use, Reader reader);

} // namespace bubblescope::report
