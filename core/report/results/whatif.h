#pragma once

#include "core/analysis/whatif/scenario.h"
#include "core/analysis/whatif/straggler_study.h"
#include "core/report/document.h"

#include <string>
#include <vector>

namespace bubblescope::report {

/// Adds the replay error of a run, which affects all predictions of what-if and advice.
void addReplayError(Section& section, const ReplayCheck& check);
/// As above; for programs, also by step and rank.
void addReplayCheck(Section& section, const ReplayCheck& check);

/// Document about the cost of stragglers, by rank, replica and kind of op.
[[nodiscard]] Document studyDocument(const RunModel& model, const StragglerStudy& study);

/// Document about the predicted effect of `changes`, given as text, on a step.
[[nodiscard]] Document predictionDocument(const std::vector<std::string>& changes, const Prediction& prediction);

/// The two documents above for programs: the study and, under "scenario", the predicted effect of the changes.
[[nodiscard]] Document scenarioDocument(const RunModel& model, const std::vector<std::string>& changes,
                                        const Prediction& prediction);

} // namespace bubblescope::report
