#pragma once

#include "core/analysis/whatif/run_model.h"
#include "core/analysis/whatif/surroundings.h"
#include "core/schedule/dependency.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope {

/// The times of a pipeline's ops and transfers.
struct PipelineTimes {
    std::function<TimeNs(OpIndex op, OpIndex partner)> op; ///< of a pair where `partner` is not kNoOp
    /// Of the transfer that feeds an op; none where the op did not wait for it.
    std::function<std::optional<TimeNs>(OpIndex consumer)> transfer;
    std::function<TimeNs(OpIndex op)> late; ///< the late start of an op, or of the pair that it begins
};

/// Adds a pipeline of which only ops and transfers are known: ops run on their rank in order; a transfer between two
/// ranks starts when the op that made its payload has ended, and the op that it feeds waits for it. `place` names step
/// and replica. Returns where each rank's pipeline begins and ends. Optimizer ops are left out: they surround it.
[[nodiscard]] std::vector<RankPipeline> addPipeline(RunGraphBuilder& builder, const RunNode& place, int vpp,
                                                    const OpGraph& ops, const PipelineTimes& times);

/// The model of steps that are known as timelines: their ops, transfers and late starts as the accounting reads them
/// (StepGraph, DelayParts), so that simulated steps are as long as observed. `model` comes with names and sizes filled
/// in. Errors: Input, when ops wait for each other.
[[nodiscard]] Result<RunModel> timelineGraph(std::span<const StepTimeline* const> steps, RunModel model);

} // namespace bubblescope
