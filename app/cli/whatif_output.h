#pragma once

#include "app/cli/output.h"
#include "core/analysis/whatif/scenario.h"
#include "core/analysis/whatif/straggler_study.h"
#include "core/recognise/run.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope::cli {

[[nodiscard]] Json studyJson(const RunModel& model, const StragglerStudy& study);
[[nodiscard]] std::string studyText(const RunModel& model, const StragglerStudy& study);

[[nodiscard]] Json predictionJson(const std::vector<std::string>& changes, const Prediction& prediction);
[[nodiscard]] std::string predictionText(const std::vector<std::string>& changes, const Prediction& prediction);

} // namespace bubblescope::cli
