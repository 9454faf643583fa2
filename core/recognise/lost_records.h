#pragma once

#include "core/base/diagnostic.h"

namespace bubblescope {

/// True if a problem means that the trace originally had more content, or that part of it is unreliable.
[[nodiscard]] bool meansLostRecords(const Diagnostic& problem);

} // namespace bubblescope
