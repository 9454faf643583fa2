#pragma once

#include "core/timeline/step_values.h"

#include <string_view>

namespace bubblescope::perfetto {

/// Values that the framework of a recorded process reports about a finished step, as args of an instant: "step", its
/// number; "loss", a real number; and the counts of StepValues. Each rank reports the values of its replica.
/// Complements capture_names.h.
inline constexpr std::string_view kCaptureStepValues = "capture step values";

} // namespace bubblescope::perfetto
