#pragma once

#include "core/timeline/step_values.h"

#include <string_view>

namespace bubblescope::perfetto {

/// The report of a recorded process's framework about a finished step, as args of an instant: "step", its number;
/// "loss", a real number; and the counts of StepValues. A rank reports the values of its replica. Complements
/// capture_names.h.
inline constexpr std::string_view kCaptureStepValues = "capture step values";

} // namespace bubblescope::perfetto
