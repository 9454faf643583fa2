#pragma once

#include "core/base/diagnostic.h"

namespace bubblescope {

/// True if a problem means that content of the trace has been lost or is unreliable.
[[nodiscard]] bool meansLostRecords(const Diagnostic& problem);

} // namespace bubblescope
