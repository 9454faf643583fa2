#pragma once

#include "core/base/diagnostic.h"

namespace bubblescope {

/// True if a problem of reading means that the trace had more content, or that part of it is not credible.
[[nodiscard]] bool meansLostRecords(const Diagnostic& problem);

} // namespace bubblescope
