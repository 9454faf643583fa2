#pragma once

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/graph/moving_weights.h"
#include "runtime/engine/moving_rank.h"

namespace bubblescope::runtime {

/// An order in which weights travel (core/graph/moving_weights.h), and the nominal times of its messages, which matter
/// only in paced runs; see MovingWeightTimes.
struct WeightOrder {
    MovingWeights moving;
    TimeNs weights{0};
    TimeNs gradients{0};
    TimeNs between_nodes{0};
};

/// Trains on ranks of this process, one thread each, with weights that travel in messages. A rank owns one stage: only
/// it keeps the stage's weights and the optimizer's state between steps. In a step, a rank runs all stages of its
/// micro-batches with weights that it receives, and keeps the activations. A turn's messages leave when the turn
/// starts, so a rank holds at most two columns of weights, one of gradients, and copies that are under way.
///
/// In a ring, the gradients of a stage travel past ranks that run the stage's backwards in the order of the
/// micro-batches. After the last turn, each rank sends the gradients that it holds to the stage's owner. With nodes,
/// the owner sends weights to all ranks of a node, and receives the gradients of each micro-batch; unlike in TawPipe's
/// program, a node does not add its gradients first. Both add gradients in the order of DataPlan, so the results are
/// bit-identical to those of a pipeline with the same stages. With RingSplit, ranks s … p−1 add to the gradients of
/// stage s one round before the others, so a pipeline's results differ in their last bits.
///
/// In paced runs, turns, ops and messages have the times of simulateMovingWeights(). Otherwise a turn begins when the
/// rank's messages of the previous turn have arrived; in a ring, its neighbours must also have begun that turn.
///
/// `config.schedule` has one chunk per rank, and the ops of movingWeightsOrder(); only steps, pacing, times and
/// `end_early` are used otherwise. `parts.make_stage` must support StageModel::takeWeights(). Control and errors are
/// those of runEngine().
[[nodiscard]] Result<MovingRunResult> runTravellingWeights(const EngineConfig& config, const WeightOrder& order,
                                                           const EngineParts& parts, JobControl& control);

} // namespace bubblescope::runtime
