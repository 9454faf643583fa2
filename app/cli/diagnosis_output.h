#pragma once

#include "app/cli/output.h"
#include "core/analysis/step_diagnosis.h"

#include <string>
#include <vector>

namespace bubblescope::cli {

/// `accounting` of a rank: whole nanoseconds that sum to the step's wall time.
[[nodiscard]] Json accountingJson(const RankAccounting& account);

/// `ladder`, `critical_path` and `blame` of a step, added to its object. Times of a step count from its begin.
void addDiagnosis(Json& object, const StepTimeline& step, const StepDiagnosis& diagnosis);

/// The same for people.
[[nodiscard]] std::string diagnosisText(const StepTimeline& step, const StepDiagnosis& diagnosis);

/// What --fail-on takes where findings are made: "any" and the names of their kinds.
[[nodiscard]] std::vector<std::string> failKinds();

} // namespace bubblescope::cli
