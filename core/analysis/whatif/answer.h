#pragma once

#include "core/analysis/whatif/scenario.h"

#include <optional>
#include <string>

namespace bubblescope {

/// What a scenario would change in a run, with one of the run's steps as it would run.
struct ScenarioAnswer {
    Prediction prediction;
    std::optional<StepTimeline> timeline; ///< see predictedStep(); none where it fails
    std::string no_timeline;              ///< why it fails; empty otherwise
};

/// `step` is the observed step to predict, one of the run that `run` was made of; `order` is that run's schedule.
/// Errors: as predict().
[[nodiscard]] Result<ScenarioAnswer> answerScenario(const RunModel& run, const Schedule& order,
                                                    const Scenario& scenario, const ModelCut& cut,
                                                    const StepTimeline& step);

} // namespace bubblescope
