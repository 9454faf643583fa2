#pragma once

#include "core/base/result.h"
#include "core/schedule/schedule.h"
#include "core/timeline/step_timeline.h"

#include <vector>

namespace bubblescope {

/// A pipeline whose stages are bound to no rank: weights are loaded where a stage runs next (RoundPipe, arXiv
/// 2604.27085). A micro-batch passes the forward stages and then the backward stages, which may be cut differently.
/// Each of these *positions* is a visit: a rank loads the weights once and runs all micro-batches.
struct MovingStages {
    int pp = 1;
    int microbatches = 1;
    int forward_stages = 1;
    int backward_stages = 1;

    [[nodiscard]] int positions() const { return forward_stages + backward_stages; }
    /// The placement: positions go round the ranks, so that a stage's backward usually runs on another rank than its
    /// forward.
    [[nodiscard]] Rank rankOf(int position) const { return Rank{position % pp}; }
    /// The op of a position; its chunk is the number of the stage.
    [[nodiscard]] Op opOf(int position, Microbatch microbatch) const;
};

struct MovingTimes {
    TimeNs forward{0};
    TimeNs backward{0};
    TimeNs transfer{0}; ///< latency of an activation or gradient between ranks
    TimeNs weights{0};  ///< load of a stage's weights, on a stream of its own
};

/// The order of each rank, in which chunks are numbers of stages. Errors: Usage for impossible sizes.
[[nodiscard]] Result<Schedule> movingOrder(const MovingStages& stages);

/// The step of movingOrder(). A rank holds the weights of two visits: it loads those of the next one while it runs the
/// current one. Errors: as movingOrder(); Usage if the times exceed 64 bits.
[[nodiscard]] Result<StepTimeline> simulateMoving(const MovingStages& stages, const MovingTimes& times);

/// With equal times t of all positions, transfers c, and loads that fit into a visit (weights ≤ m·t), position i begins
/// max(m·t, p·(t+c)) after position i−p, since either its rank or the micro-batch's way round the ranks binds.
struct MovingForm {
    TimeNs makespan{0};
    TimeNs between_visits{0}; ///< idle time of a rank from one visit to the next: max(0, p·(t+c) − m·t)
};
/// Errors: Usage outside of that domain.
[[nodiscard]] Result<MovingForm> movingForm(const MovingStages& stages, const MovingTimes& times);

} // namespace bubblescope
