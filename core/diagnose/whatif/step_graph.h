#pragma once

#include "core/diagnose/whatif/replay_model.h"
#include "core/diagnose/whatif/surroundings.h"
#include "core/schedule/dependency.h"

#include <functional>
#include <span>
#include <vector>

namespace bubblescope {

/// What the ops and transfers of a pipeline take. A transfer is known by the op that it feeds.
struct PipelineTimes {
    std::function<TimeNs(OpIndex op, OpIndex partner)> op; ///< of a pair where `partner` is not kNoOp
    std::function<TimeNs(OpIndex consumer)> transfer;
};

/// Adds a pipeline of which only ops and transfers are known: ops run on their rank in order, and a transfer
/// between two ranks starts when the op before it has ended and hands over to the one behind it. `place` names step and
/// replica. Returns where each rank's pipeline begins and ends. Optimizer ops are left out: they surround it.
[[nodiscard]] std::vector<RankPipeline> addPipeline(ReplayGraphBuilder& builder, const ReplayNode& place, int vpp,
                                                    const OpGraph& ops, const PipelineTimes& times);

/// The graph of steps that are known as timelines. Of a transfer with both sides recorded the time is what is left
/// until the receive's end once its op, send and receive have begun. Where sides are not recorded an op that waited for
/// its input shows the time: from the end of the op before the transfer to its own start. Transfers that nobody waited
/// for take the median of those on the same link, as far as there was time for it. `model` has names and sizes already.
/// Errors: Input, when ops wait for each other.
[[nodiscard]] Result<ReplayModel> stepGraph(std::span<const StepTimeline* const> steps, ReplayModel model);

} // namespace bubblescope
