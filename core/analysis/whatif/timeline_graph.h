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

/// A part of the delay of an op's start.
struct OpDelay {
    RunOp kind = RunOp::LateStart;
    TimeNs time{0};
    Rank from{-1}; ///< the rank that the op's input came from, if the op waited for that last
};

/// The reason why a rank is blocked between an op and the previous one, besides the transfer of its input: see Hold.
struct OpHold {
    OpIndex sends_to = kNoOp; ///< the transfer of the previous output, given by the op that it feeds
    bool receives = false;    ///< its input's transfer did not start before the previous op had ended
};

/// The times of a pipeline's ops and transfers. For an overlapped pair `op` is the first half.
struct PipelineTimes {
    std::function<TimeNs(OpIndex op, OpIndex partner)> op; ///< for a pair if `partner` is not kNoOp
    std::function<OpParts(OpIndex op)> parts;              ///< the parts of that time; empty if unknown
    /// Time of the transfer that feeds an op; none if the op did not wait for it.
    std::function<std::optional<TimeNs>(OpIndex consumer)> transfer;
    std::function<void(OpIndex op, std::vector<OpDelay>& out)> delays; ///< delays before an op, one after the other
    std::function<OpHold(OpIndex op)> holds = nullptr;                 ///< empty if sends do not block ranks
};

/// Adds a pipeline: ops run on their rank in order; a transfer between two ranks starts when the op that produced its
/// payload has ended, and the op that it feeds waits for it. `place` names step and replica. Returns the nodes at which
/// each rank's pipeline begins and ends. Leaves out optimizer ops, which surround the pipeline.
[[nodiscard]] std::vector<RankPipeline> addPipeline(RunGraphBuilder& builder, const RunNode& place, int vpp,
                                                    const OpGraph& ops, const PipelineTimes& times);

/// A step, and what is known about it besides its timeline.
struct KnownStep {
    const StepTimeline* step = nullptr;
    StepKnowledge known;
};

/// Options for reading steps in the same way as the accounting.
struct StepReading {
    const UsualTimes& usual;
    const Schedule& plan;    ///< the order that the steps were meant to follow
    bool as_planned = false; ///< if the plan fits a step, use its order instead of the order in which the step ran
    bool holds = true;       ///< sends block ranks (Hold), in the order in which a step ran
};

/// The model of steps given as timelines: the accounting's graph of each (StepGraph), with the same parts of times and
/// delays (StepParts, DelayParts), so that a replay without a cause agrees with the accounting. `model` must have its
/// names and sizes set. Errors: Input if ops wait for each other.
[[nodiscard]] Result<RunModel> timelineGraph(std::span<const KnownStep> steps, const StepReading& reading,
                                             RunModel model);

} // namespace bubblescope
