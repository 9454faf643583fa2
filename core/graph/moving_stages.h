#pragma once

#include "core/base/result.h"
#include "core/schedule/schedule.h"
#include "core/timeline/step_timeline.h"

#include <vector>

namespace bubblescope {

/// A pipeline whose stages are not bound to ranks: each rank loads the weights of the stage that it runs next
/// (RoundPipe, arXiv 2604.27085). A micro-batch runs the forward stages, then the backward stages, which may be cut
/// differently. For each of these *positions*, a rank loads the weights once and runs all micro-batches: a *visit*.
struct MovingStages {
    int pp = 1;
    int microbatches = 1;
    int forward_stages = 1;
    int backward_stages = 1;

    [[nodiscard]] int positions() const { return forward_stages + backward_stages; }
    /// The placement. Positions are assigned to ranks round-robin, so that a stage's backward usually runs on a
    /// different rank than its forward.
    [[nodiscard]] Rank rankOf(int position) const { return Rank{position % pp}; }
    /// The op at a position. The op's chunk is the stage's number.
    [[nodiscard]] Op opOf(int position, Microbatch microbatch) const;
};

struct MovingTimes {
    TimeNs forward{0};
    TimeNs backward{0};
    TimeNs transfer{0}; ///< latency of an activation or gradient between ranks
    TimeNs weights{0};  ///< time to load a stage's weights, on a separate stream
};

/// The order of each rank; chunks in it are stage numbers. Errors: Usage if the sizes are impossible.
[[nodiscard]] Result<Schedule> movingOrder(const MovingStages& stages);

/// Simulates the step of movingOrder(). A rank stores the weights of two visits, because it loads the next ones while
/// it runs the current ones. Errors: as for movingOrder(); Usage if the times do not fit in 64 bits.
[[nodiscard]] Result<StepTimeline> simulateMoving(const MovingStages& stages, const MovingTimes& times);

/// Assumes equal times t for all positions, transfers c, and loads that fit into a visit (weights ≤ m·t). Position i
/// then begins max(m·t, p·(t+c)) after position i−p, limited by its rank or by the micro-batch's path across all ranks.
struct MovingForm {
    TimeNs makespan{0};
    TimeNs between_visits{0}; ///< idle time of a rank from one visit to the next: max(0, p·(t+c) − m·t)
};
/// Errors: Usage if the assumptions of MovingForm do not hold.
[[nodiscard]] Result<MovingForm> movingForm(const MovingStages& stages, const MovingTimes& times);

} // namespace bubblescope
