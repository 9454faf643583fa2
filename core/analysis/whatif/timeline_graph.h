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

/// A part of the delay before an op.
struct OpDelay {
    RunOp kind = RunOp::LateStart;
    TimeNs time{0};
    Rank from{-1}; ///< rank that sent the op's latest input, if the op waited for this input last
};

/// The reasons why a rank is blocked between two consecutive ops, other than the transfer of the input: see Hold.
struct OpHold {
    OpIndex sends_to = kNoOp; ///< transfer of the previous output, identified by the receiving op
    bool receives = false;    ///< true if the input transfer started only after the previous op ended
};

/// The times of a pipeline's ops and transfers. For an overlapped pair, `op` is the first half.
struct PipelineTimes {
    std::function<TimeNs(OpIndex op, OpIndex partner)> op; ///< time of an op, or of a pair if `partner` is not kNoOp
    std::function<OpParts(OpIndex op)> parts;              ///< parts of the op's time; empty if unknown
    /// Time of the transfer of an op's input; none if the op did not wait for it.
    std::function<std::optional<TimeNs>(OpIndex consumer, OpIndex producer)> transfer;
    std::function<void(OpIndex op, std::vector<OpDelay>& out)> delays; ///< delays before an op, in time order
    std::function<OpHold(OpIndex op)> holds = nullptr;                 ///< empty if sends do not block ranks
};

/// Adds a pipeline. Ops run on their rank in order. A transfer between two ranks starts when the op that produced its
/// payload has ended, and the receiving op waits for it. `place` specifies step and replica. Returns the first and last
/// nodes of each rank's pipeline. Skips optimizer ops, which run before or after the pipeline.
[[nodiscard]] std::vector<RankPipeline> addPipeline(RunGraphBuilder& builder, const RunNode& place, int vpp,
                                                    const OpGraph& ops, const PipelineTimes& times);

/// A step, with additional information that its timeline does not contain.
struct KnownStep {
    const StepTimeline* step = nullptr;
    StepKnowledge known;
};

/// Options for reading steps in the same way as the accounting.
struct StepReading {
    const UsualTimes& usual;
    const Schedule& plan;    ///< the planned order of the steps
    bool as_planned = false; ///< if the plan fits a step, use the plan's order instead of the observed one
    bool holds = true;       ///< if true, a send blocks its rank (Hold) in the observed order
};

/// The model of steps given as timelines: the accounting's graph for each (StepGraph), with the same parts of times and
/// delays (StepParts, DelayParts), so that a replay that leaves out a cause agrees with the accounting. `model` must
/// have its names and sizes set. Errors: Input if ops wait for each other.
[[nodiscard]] Result<RunModel> timelineGraph(std::span<const KnownStep> steps, const StepReading& reading,
                                             RunModel model);

} // namespace bubblescope
