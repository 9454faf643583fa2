#pragma once

#include "core/timeline/step_values.h"

#include <string_view>

namespace bubblescope::perfetto {

/// What the framework of a recorded process knows of a step once it is over, as args of an instant: "step", its number;
/// "loss", a real number; and the counts of StepValues. A rank states what it knows for its replica. Beside what
/// capture_names.h lists.
inline constexpr std::string_view kCaptureStepValues = "capture step values";

} // namespace bubblescope::perfetto
