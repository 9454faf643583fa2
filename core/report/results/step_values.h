#pragma once

#include "core/report/value.h"
#include "core/timeline/step_values.h"

#include <string>

namespace bubblescope::report {

/// The values that a framework reports about a step: "loss" (null if it is infinite or NaN), "tokens", "samples",
/// "sequence_length"; keys of values that it does not report are absent.
[[nodiscard]] Value::Object stepValuesOf(const StepValues& values);

/// "2.3026"; a loss of any size.
[[nodiscard]] std::string lossText(double loss);

} // namespace bubblescope::report
