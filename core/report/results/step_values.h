#pragma once

#include "core/report/value.h"
#include "core/timeline/step_values.h"

#include <string>

namespace bubblescope::report {

/// What a framework states of a step, as far as it does: "loss" (null if it is no finite number), "tokens", "samples",
/// "sequence_length".
[[nodiscard]] Value::Object stepValuesOf(const StepValues& values);

/// "2.3026"; a loss of any size.
[[nodiscard]] std::string lossText(double loss);

} // namespace bubblescope::report
