#pragma once

#include "runtime/run.h"

namespace bubblescope::runtime {

/// Whether a run can be made. Errors: Input for an invalid schedule, Usage for numbers that make no run.
[[nodiscard]] Status checkConfig(const RunConfig& config);

} // namespace bubblescope::runtime
