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

/// What actions on weights take, each on a stream of its own besides the ops.
struct WeightTimes {
    TimeNs unshard{0};
    TimeNs reduce_grad{0};
};

/// A transfer that had to queue: both ranks had posted it at `ready`, and it came to the head of both queues at
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

/// The time that transfers spent behind others though both of their ranks had posted them.
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

/// An action other than Compute. A send or receive is posted, starts when its transfer does, and ends with it.
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

/// Simulates a lowered schedule. The rules of LoweredGraph say what waits for what; further:
///
/// - An op takes its time. All other actions take none on their rank.
/// - A transfer starts when both of its calls are at the head of their queues, and takes its time. An eager one takes
/// it
///   from when its send is at the head; the receive ends no earlier than when it is at the head.
/// - UNSHARD and REDUCE_GRAD run one after another on a stream of their rank.
///
/// `sends` and `streams` of the cost model have no part in it. Errors: Input, for what validateLowered() finds; Usage,
/// as for simulate().
[[nodiscard]] Result<LoweredStep> simulateLowered(const LoweredSchedule& lowered, const CostModel& costs,
                                                  const QueueModel& queues, const WeightTimes& weights = {});

} // namespace bubblescope
