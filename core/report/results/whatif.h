#pragma once

#include "core/analysis/whatif/scenario.h"
#include "core/analysis/whatif/straggler_study.h"
#include "core/report/document.h"

#include <string>
#include <vector>

namespace bubblescope::report {

/// What stragglers cost, and which ranks, replicas and kinds of op they are.
[[nodiscard]] Document studyDocument(const RunModel& model, const StragglerStudy& study);

/// What `changes`, in words, would do to a step.
[[nodiscard]] Document predictionDocument(const std::vector<std::string>& changes, const Prediction& prediction);

} // namespace bubblescope::report
