#pragma once

#include "core/analysis/whatif/scenario.h"
#include "core/timeline/step_timeline.h"

namespace bubblescope {

/// One of the model's steps (its place in ReplayModel::steps) in one of its replicas (place in ReplayModel::replicas),
/// as it would run: the ops of the same replay that predict() makes, without transfers and what surrounds the pipeline.
/// The timeline begins at 0 with its first op. Errors: as predict(); Usage where there is no such step or replica, and
/// where the step has overlapped pairs, whose halves a replay does not tell apart.
[[nodiscard]] Result<StepTimeline> predictedStep(const ReplayModel& run, const Schedule& order,
                                                 const Scenario& scenario, const ModelCut& cut, std::size_t step,
                                                 std::size_t replica = 0);

} // namespace bubblescope
