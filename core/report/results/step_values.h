#pragma once

#include "core/report/value.h"
#include "core/timeline/step_values.h"

#include <string>

namespace bubblescope::report {

/// Values that a framework reports about a step: "loss" (null if it is infinite or NaN), "tokens", "samples",
/// "sequence_length". Keys of values that are not reported are absent.
[[nodiscard]] Value::Object stepValuesOf(const StepValues& values);

/// Formats a loss of any magnitude, for example "2.3026".
[[nodiscard]] std::string lossText(double loss);

} // namespace bubblescope::report
