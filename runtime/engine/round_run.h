#pragma once

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/graph/moving_stages.h"
#include "runtime/engine/moving_rank.h"

namespace bubblescope::runtime {

/// An order in which stages go round the ranks (core/graph/moving_stages.h), and the nominal time to load a stage's
/// weights, which matters only in paced runs.
struct RoundOrder {
    MovingStages moving; ///< with equal numbers of forward and backward stages
    TimeNs weights{0};
};

/// Trains on ranks of this process, one thread each, with stages that do not belong to ranks, like RoundPipe. Between
/// visits, weights, gradients and the inputs of stages are in host memory, where all ranks reach them. For a visit, a
/// rank loads a copy of the stage's weights. A forward stores only its input; the backward, which usually runs on
/// another rank, computes the activations again. Activations and gradients go from position to position in messages.
/// The backward's visit sums the gradients of all micro-batches in the order of DataPlan, and rank s mod p updates
/// stage s, so the results are bit-identical to those of a pipeline with the same stages.
///
/// In paced runs, ops and loads have the times of simulateMoving(); the recomputation is part of the backward.
///
/// `config.schedule` has v chunks per rank, where p·v is the number of stages, and the ops of movingOrder(); only
/// steps, pacing, times and `end_early` are used otherwise. `parts.make_stage` must support StageModel::takeWeights()
/// and forget(). Control and errors are those of runEngine(). The memory of a rank includes the inputs that its
/// forwards have stored in a step.
[[nodiscard]] Result<MovingRunResult> runMovingStages(const EngineConfig& config, const RoundOrder& order,
                                                      const EngineParts& parts, JobControl& control);

} // namespace bubblescope::runtime
