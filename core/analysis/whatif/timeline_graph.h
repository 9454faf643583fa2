#pragma once

#include "core/analysis/accounting/usual_times.h"
#include "core/analysis/whatif/run_model.h"
#include "core/analysis/whatif/step_collectives.h"
#include "core/graph/step_replay.h"
#include "core/schedule/dependency.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope {

/// A part of what an op began later than it could.
struct OpDelay {
    RunOp kind = RunOp::LateStart;
    TimeNs time{0};
    Rank from{-1}; ///< where the op's input came from, if it waited for that last
};

/// What holds a rank between an op and the one before it, besides the transfer of its input: see Hold.
struct OpHold {
    OpIndex sends_to = kNoOp; ///< the transfer of the output before it, by the op that this feeds
    bool receives = false;    ///< its input's transfer began no sooner than the op before it had ended
};

/// The times of a pipeline's ops and transfers. For an overlapped pair `op` is the first half.
struct PipelineTimes {
    std::function<TimeNs(OpIndex op, OpIndex partner)> op; ///< of a pair where `partner` is not kNoOp
    std::function<OpParts(OpIndex op)> parts;              ///< what that is made of; empty where it is unknown
    /// Of the transfer that feeds an op; none where the op did not wait for it.
    std::function<std::optional<TimeNs>(OpIndex consumer)> transfer;
    std::function<void(OpIndex op, std::vector<OpDelay>& out)> delays; ///< before an op, one after the other
    std::function<OpHold(OpIndex op)> holds = nullptr;                 ///< empty where sends hold no rank
};

/// Adds a pipeline: ops run on their rank in order; a transfer between two ranks starts when the op that made its
/// payload has ended, and the op that it feeds waits for it. `place` names step and replica. Returns where each rank's
/// pipeline begins and ends. Optimizer ops are left out: they surround it.
[[nodiscard]] std::vector<RankPipeline> addPipeline(RunGraphBuilder& builder, const RunNode& place, int vpp,
                                                    const OpGraph& ops, const PipelineTimes& times);

/// A step, and what is known of it besides.
struct KnownStep {
    const StepTimeline* step = nullptr;
    StepKnowledge known;
};

/// How to read steps: as the accounting does.
struct StepReading {
    const UsualTimes& usual;
    const Schedule& plan;    ///< that the steps were meant to follow
    bool as_planned = false; ///< each step in the order of the plan if that fits, instead of in the order it ran
    bool holds = true;       ///< sends hold ranks (Hold), in the order in which a step ran
};

/// The model of steps that are known as timelines: the accounting's graph of each (StepGraph), with the same parts of
/// times and delays (StepParts, DelayParts), so that a replay without a cause takes what the accounting says. `model`
/// comes with names and sizes filled in. Errors: Input, when ops wait for each other.
[[nodiscard]] Result<RunModel> timelineGraph(std::span<const KnownStep> steps, const StepReading& reading,
                                             RunModel model);

} // namespace bubblescope
