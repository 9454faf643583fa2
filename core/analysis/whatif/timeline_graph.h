#pragma once

#include "core/analysis/whatif/replay_model.h"
#include "core/analysis/whatif/surroundings.h"
#include "core/schedule/dependency.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope {

/// What the ops and transfers of a pipeline take.
struct PipelineTimes {
    std::function<TimeNs(OpIndex op, OpIndex partner)> op; ///< of a pair where `partner` is not kNoOp
    /// Of the transfer that feeds an op; none where the op did not wait for it.
    std::function<std::optional<TimeNs>(OpIndex consumer)> transfer;
    std::function<TimeNs(OpIndex op)> late; ///< how long after it could an op, or the pair that it begins, starts
};

/// Adds a pipeline of which only ops and transfers are known: ops run on their rank in order, and a transfer
/// between two ranks starts when the op before it has ended and hands over to the one behind it. `place` names step and
/// replica. Returns where each rank's pipeline begins and ends. Optimizer ops are left out: they surround it.
[[nodiscard]] std::vector<RankPipeline> addPipeline(ReplayGraphBuilder& builder, const ReplayNode& place, int vpp,
                                                    const OpGraph& ops, const PipelineTimes& times);

/// The graph of steps that are known as timelines: their ops, transfers and late starts as the accounting reads them
/// (StepGraph, DelayParts), so that it replays each step as long as it was. `model` has names and sizes already.
/// Errors: Input, when ops wait for each other.
[[nodiscard]] Result<ReplayModel> timelineGraph(std::span<const StepTimeline* const> steps, ReplayModel model);

} // namespace bubblescope
