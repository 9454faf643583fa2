#pragma once

#include "core/analysis/whatif/scenario.h"
#include "core/analysis/whatif/straggler_study.h"
#include "core/report/document.h"

#include <string>
#include <vector>

namespace bubblescope::report {

/// How far the replay of a run is off: what every answer of what-if and advice rests on.
void addReplayError(Section& section, const ReplayCheck& check);
/// The same, for programs also by step and rank.
void addReplayCheck(Section& section, const ReplayCheck& check);

/// What stragglers cost, and which ranks, replicas and kinds of op they are.
[[nodiscard]] Document studyDocument(const RunModel& model, const StragglerStudy& study);

/// What `changes`, in words, would do to a step.
[[nodiscard]] Document predictionDocument(const std::vector<std::string>& changes, const Prediction& prediction);

/// Both, for programs: the study, and below "scenario" what the changes would do.
[[nodiscard]] Document scenarioDocument(const RunModel& model, const std::vector<std::string>& changes,
                                        const Prediction& prediction);

} // namespace bubblescope::report
