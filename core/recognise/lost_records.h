#pragma once

#include "core/base/diagnostic.h"

namespace bubblescope {

/// Whether a problem of reading means that the trace held more, or that part of it cannot be believed.
[[nodiscard]] bool meansLostRecords(const Diagnostic& problem);

} // namespace bubblescope
