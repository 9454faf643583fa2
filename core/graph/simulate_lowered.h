#pragma once

#include "core/base/result.h"
#include "core/cost/communicators.h"
#include "core/cost/cost_model.h"
#include "core/graph/lowered_graph.h"
#include "core/timeline/step_timeline.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bubblescope {

/// Times of side actions, which run on streams of their own in parallel with the ops.
struct SideTimes {
    TimeNs unshard{0};
    TimeNs reduce_grad{0};
    TimeNs host_copy{0}; ///< of a forward's activations to the host or back
    TimeNs peer_copy{0}; ///< to another rank or back
};

/// Side times that are equal for all stages, or given per stage.
struct WeightTimes : SideTimes {
    std::vector<SideTimes> stages = {}; ///< if not empty, used instead

    [[nodiscard]] const SideTimes& of(Stage stage) const {
        return stages.empty() ? static_cast<const SideTimes&>(*this) : stages[stage.index()];
    }
};

/// A transfer that had to queue: both ranks had posted it at `ready`, but it reached the head of both queues at
/// `start`.
struct QueuedTransfer {
    Rank from;
    Rank to;
    std::string send;
    std::string receive;
    std::string communicator;
    std::string behind; ///< the last call before it in the queue
    Rank behind_rank;
    TimeNs ready{0};
    TimeNs start{0};
    [[nodiscard]] TimeNs wait() const { return start - ready; }
};

/// The time for which transfers waited behind others although both ranks had posted them.
struct QueueTimes {
    std::vector<QueuedTransfer> queued; ///< longest wait first
    struct Sum {
        std::string name;
        std::int64_t transfers = 0;
        TimeNs wait{0};
    };
    std::vector<Sum> communicators; ///< by name
    std::vector<TimeNs> ranks;      ///< per sender
};

/// An action other than Compute. For a send or receive: when it was posted, and when its transfer started and ended.
struct ActionTime {
    Action action;
    TimeNs posted{0};
    TimeNs start{0};
    TimeNs end{0};
};

struct LoweredStep {
    StepTimeline step;
    std::vector<std::vector<ActionTime>> actions; ///< per rank, in its order
    QueueTimes queues;
};

/// Simulates a lowered schedule. The rules of LoweredGraph define what waits for what; in addition:
///
/// - An op takes its time in the cost model, a RECOMPUTE that of its F. All other actions take no time on their rank.
///   In the timeline, a RECOMPUTE right before its backward is part of it; others only appear in `actions`.
/// - A transfer starts when both of its calls are at the head of their queues, and takes its time. An eager transfer
///   starts when its send is at the head; the receive does not end before it is at the head.
/// - Side actions run one after another on their streams, see LoweredGraph.
///
/// Ignores `sends` and `streams` of the cost model. Errors: Input for problems that validateLowered() finds; Usage as
/// in simulate().
[[nodiscard]] Result<LoweredStep> simulateLowered(const LoweredSchedule& lowered, const CostModel& costs,
                                                  const QueueModel& queues, const WeightTimes& weights = {});

} // namespace bubblescope
