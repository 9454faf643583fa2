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

/// Times of side actions, which run on separate streams in parallel with the ops.
struct SideTimes {
    TimeNs unshard{0};
    TimeNs reduce_grad{0};
    TimeNs host_copy{0}; ///< time to copy a forward's activations to the host or back
    TimeNs peer_copy{0}; ///< time to copy a forward's activations to another rank or back
};

/// Times of side actions, for all stages or per stage.
struct WeightTimes : SideTimes {
    std::vector<SideTimes> stages = {}; ///< per stage; if not empty, these replace the common times

    [[nodiscard]] const SideTimes& of(Stage stage) const {
        return stages.empty() ? static_cast<const SideTimes&>(*this) : stages[stage.index()];
    }
};

/// A transfer that was queued: both ranks had posted it at `ready`, but it reached the head of both queues at
/// `start`.
struct QueuedTransfer {
    Rank from;
    Rank to;
    std::string send;
    std::string receive;
    std::string communicator;
    std::string behind; ///< name of the call ahead of it in the queue
    Rank behind_rank;
    TimeNs ready{0};
    TimeNs start{0};
    [[nodiscard]] TimeNs wait() const { return start - ready; }
};

/// Time that transfers spent queued after both ranks had posted them.
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

/// Times of an action other than Compute. For a send or receive: when it was posted, and its transfer's start and end.
struct ActionTime {
    Action action;
    TimeNs posted{0};
    TimeNs start{0};
    TimeNs end{0};
};

struct LoweredStep {
    StepTimeline step;
    std::vector<std::vector<ActionTime>> actions; ///< per rank, in the order of its list
    QueueTimes queues;
};

/// Simulates a lowered schedule. LoweredGraph defines the dependencies. Additional rules:
///
/// - The cost model defines the time of an op. A RECOMPUTE takes as long as its F. Other actions take no time. In the
///   timeline, a backward includes a RECOMPUTE directly before it; other RECOMPUTEs appear only in `actions`.
/// - A transfer starts when both of its calls are at the head of their queues, and takes its modelled time. An eager
///   transfer starts when its send is at the head; its receive cannot end before it is at the head of its queue.
/// - Side actions run one after another on their streams, see LoweredGraph.
/// - With QueueModel::receive_share, a receive is pending from when its call is at the head of its queue until it ends.
///   While n receives of a rank are pending, its ops and RECOMPUTEs run at 100 - min(n · share, 99) percent of their
///   speed: one that takes d ends at the first nanosecond at which the percentages of its nanoseconds add up to at
///   least 100 · d. Sends take nothing, and transfers are not slowed down. Speeds depend on what overlaps, so this is
///   simulated in order of time and is not a longest path. Nothing ends earlier than without the share.
///
/// Ignores the cost model's `sends` and `streams`. Errors: Input for problems that validateLowered() finds; Usage as
/// for simulate().
[[nodiscard]] Result<LoweredStep> simulateLowered(const LoweredSchedule& lowered, const CostModel& costs,
                                                  const QueueModel& queues, const WeightTimes& weights = {});

} // namespace bubblescope
