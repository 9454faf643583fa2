#pragma once

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/graph/moving_weights.h"
#include "core/timeline/step_timeline.h"
#include "runtime/engine/engine.h"

#include <vector>

namespace bubblescope::runtime {

/// A ring of ranks around which weights travel (core/graph/moving_weights.h), and the nominal times of its messages,
/// which matter only in paced runs.
struct RingOrder {
    MovingWeights moving; ///< Ring or RingNaive
    TimeNs weights{0};    ///< time to send a stage's weights to the next rank
    TimeNs gradients{0};  ///< time to send a stage's weight gradients to the next rank
};

struct RingResult {
    EngineResult engine; ///< `losses` has one entry per step and update; `stages` are those that their owners train
    StepTimeline last;   ///< ops of the last step; chunks are stage numbers
    std::vector<TimeNs> walls; ///< of each step: from its start to the end of its last op, without the update
};

/// Trains on ranks of this process, one thread each, with weights that travel in messages. A rank owns one stage: only
/// it keeps the stage's weights and the optimizer's state between steps. In a step, it runs all stages of its
/// micro-batches with weights that it receives, and keeps the activations. A turn's messages leave when the turn
/// starts, so a rank holds two columns of weights, one of gradients, and copies of those that are under way.
///
/// The gradients of a stage travel with its backward weights. Ranks run the backwards of a stage in the order of the
/// micro-batches, which is the order of DataPlan, so the results are bit-identical to those of a pipeline with the same
/// stages. After the last turn, each rank sends the gradients that it holds to the stage's owner, which updates the
/// weights.
///
/// In paced runs, turns, ops and messages have the times of simulateMovingWeights(). Otherwise a turn begins when the
/// rank's messages of the previous turn have arrived and its neighbours have begun that turn.
///
/// `config.schedule` has one chunk per rank, and the ops of movingWeightsOrder(); only steps, pacing, times and
/// `end_early` are used otherwise. `parts.make_stage` must support StageModel::takeWeights(). Control and errors are
/// those of runEngine().
[[nodiscard]] Result<RingResult> runRing(const EngineConfig& config, const RingOrder& order, const EngineParts& parts,
                                         JobControl& control);

} // namespace bubblescope::runtime
